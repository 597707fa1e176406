import { GetTemplateCommand, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import { awsErrorText } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/** The rights that reading the template needs. */
export const TEMPLATE_RIGHTS = [
  'cloudformation:GetTemplate on the stack',
  'cloudformation:ListStackResources on the stack',
];

/** A resource of the deployed template. */
export interface Resource {
  logicalId: string;
  type: string;
  /** Names that this software gives are literal texts here; names that CloudFormation generates are references. */
  properties: Record<string, unknown>;
  physicalId: string;
}

export interface DeployedStack {
  ofType: (type: string) => Resource[];
}

/** Reads the deployed stack from CloudFormation, not from this checkout. @throws CommandError (exit code 3) */
export async function readStack({ cloudformation, stack }: Pick<Target, 'cloudformation' | 'stack'>) {
  const template = await readTemplate({ cloudformation, stack });
  const ids = new Map<string | undefined, string | undefined>();
  for await (const page of paginateListStackResources({ client: cloudformation }, { StackName: stack })) {
    for (const one of page.StackResourceSummaries ?? []) ids.set(one.LogicalResourceId, one.PhysicalResourceId);
  }
  const resources = Object.entries(template.Resources).map(([logicalId, { Type, Properties }]): Resource => {
    return { logicalId, type: Type, properties: Properties, physicalId: ids.get(logicalId) ?? '' };
  });
  return stackOf(resources);
}

/** An index of resources by type. */
export function stackOf(resources: Resource[]): DeployedStack {
  return { ofType: (type) => resources.filter((resource) => resource.type === type) };
}

/** A property that is a text in the template; empty if it is a reference. */
export function textOf({ properties }: Resource, name: string): string {
  const value = properties[name];
  return typeof value === 'string' ? value : '';
}

const templateSchema = z.object({
  Metadata: z.optional(z.record(z.string(), z.unknown())),
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z._default(z.record(z.string(), z.unknown()), {}) }),
  ),
});

/**
 * The template of the last deployment, whatever this checkout would deploy. It has no transforms, so its text is the
 * same in every stage.
 * @throws CommandError (exit code 3)
 */
export async function readTemplate({ cloudformation, stack }: Pick<Target, 'cloudformation' | 'stack'>) {
  const command = new GetTemplateCommand({ StackName: stack, TemplateStage: 'Original' });
  const { TemplateBody } = await cloudformation.send(command).catch((error: unknown) => {
    const trouble = awsErrorText(error);
    throw trouble === undefined ? error : new CommandError(trouble, ENVIRONMENT, { cause: error });
  });
  const template = parseJson(templateSchema, TemplateBody);
  if (!template) throw new CommandError(`The template of ${stack} cannot be read: deploy it again.`, ENVIRONMENT);
  return template;
}
