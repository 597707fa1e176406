import { type Deployed, deployedBy } from '../../core/config/deployed.ts';
import { readTemplate } from '../health/deployed-stack.ts';
import { CommandError, USAGE } from './exit.ts';
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
    const what = `The template of the stack ${target.stack} has no configuration that this release can read, for another one has deployed it`;
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
  return `The stack ${stack} is in ${stackStatus}: a deployment goes on, or was not finished. Until one has ended well, functions may have another configuration than the template says.`;
}
