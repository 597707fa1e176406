import { GetTemplateCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod/mini';
import { type Deployed, deployedBy } from '../../core/config/deployed.ts';
import { parseJson } from '../../core/json.ts';
import { awsErrorText } from './aws-error.ts';
import { CommandError, ENVIRONMENT, USAGE } from './exit.ts';
import { printErr } from './print.ts';
import { isSettled, type Target } from './target.ts';

type DeployedTarget = Pick<Target, 'cloudformation' | 'stack' | 'stackStatus'>;

/** The stack has a configuration of another release, which this one cannot read: exit code 2. */
export class OtherRelease extends CommandError {}

/**
 * The deployed configuration, from the template of the stack. Only commands that need a setting read it.
 * @param warn called if the functions may have another configuration
 * @throws OtherRelease, with `ConfigInvalid` in its message
 */
export async function deployedConfiguration(target: DeployedTarget, warn = printErr): Promise<Deployed> {
  const deployed = deployedBy((await readTemplate(target)).Metadata);
  if (!deployed) {
    const what = `The template of the stack ${target.stack} has no configuration that this release can read, because another release deployed it`;
    throw new OtherRelease(`ConfigInvalid: ${what}: deploy this release.`, USAGE);
  }
  warnUnsettled(target, warn);
  return deployed;
}

const templateSchema = z.object({
  Metadata: z.optional(z.record(z.string(), z.unknown())),
});

/**
 * The template of the last deployment, whatever this checkout would deploy. It has no transforms, so its text is the
 * same in every stage.
 * @throws CommandError (exit code 3)
 */
async function readTemplate({ cloudformation, stack }: Pick<Target, 'cloudformation' | 'stack'>) {
  const command = new GetTemplateCommand({ StackName: stack, TemplateStage: 'Original' });
  const { TemplateBody } = await cloudformation.send(command).catch((error: unknown) => {
    const trouble = awsErrorText(error);
    throw trouble === undefined ? error : new CommandError(trouble, ENVIRONMENT, { cause: error });
  });
  const template = parseJson(templateSchema, TemplateBody);
  if (!template) throw new CommandError(`The template of ${stack} cannot be read: deploy it again.`, ENVIRONMENT);
  return template;
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
