import { GetTemplateCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod/mini';
import { type Deployed, deployedBy } from '../../core/config/deployed.ts';
import { parseJson } from '../../core/json.ts';
import { CommandError, ENVIRONMENT, USAGE } from './exit.ts';
import { printErr } from './print.ts';
import { isSettled, type Target } from './target.ts';

type DeployedTarget = Pick<Target, 'cloudformation' | 'stack' | 'stackStatus'>;

/** The stack has a configuration of another release, which this one cannot read: exit code 2. */
export class OtherRelease extends CommandError {}

const templateSchema = z.object({ Metadata: z.optional(z.record(z.string(), z.unknown())) });

/**
 * The deployed configuration, from the template of the last deployment, even if this checkout has another one. Only
 * commands that need a setting read it.
 * @param warn called if the functions may have another configuration
 * @throws OtherRelease, with `ConfigInvalid` in its message; CommandError (exit code 3) if the template is no JSON
 */
export async function deployedConfiguration(target: DeployedTarget, warn = printErr): Promise<Deployed> {
  const { cloudformation, stack: StackName } = target;
  // The template has no transforms, so its text is the same in every stage.
  const command = new GetTemplateCommand({ StackName, TemplateStage: 'Original' });
  const template = parseJson(templateSchema, (await cloudformation.send(command)).TemplateBody);
  if (!template) throw new CommandError(`The template of ${StackName} cannot be read: deploy it again.`, ENVIRONMENT);
  const deployed = deployedBy(template.Metadata);
  if (!deployed) {
    const what = `The template of the stack ${StackName} has no configuration that this release can read, because another release deployed it`;
    throw new OtherRelease(`ConfigInvalid: ${what}: deploy this release.`, USAGE);
  }
  warnUnsettled(target, warn);
  return deployed;
}

/** Warns a person who starts functions that these may have another configuration than the template. */
export function warnUnsettled(target: Pick<Target, 'stack' | 'stackStatus'>, warn = printErr): void {
  const between = unsettledText(target);
  if (between !== undefined) warn(between);
}

/** A warning about a stack that is between two configurations. */
export function unsettledText({ stack, stackStatus }: Pick<Target, 'stack' | 'stackStatus'>): string | undefined {
  if (isSettled(stackStatus)) return undefined;
  return `The stack ${stack} is in ${stackStatus}: a deployment is under way or failed. Until one succeeds, functions may have another configuration than the template.`;
}
