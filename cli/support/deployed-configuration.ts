import { type Deployed, deployedBy } from '../../core/config/deployed.ts';
import { readTemplate } from '../health/deployed-stack.ts';
import { CommandError, USAGE } from './exit.ts';
import { printErr } from './print.ts';
import { isSettled, type Target } from './target.ts';

type DeployedTarget = Pick<Target, 'cloudformation' | 'stack' | 'stackStatus'>;

/** The stack is of a release whose configuration this one does not read: exit code 2. */
export class OtherRelease extends CommandError {}

/**
 * The configuration that is deployed, by the template of the stack. Only commands that need a setting ask for it.
 * @param warn told where the functions may have another one
 * @throws OtherRelease, named `ConfigInvalid`
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

/** Tells a person who makes functions work that these may have another configuration than one thinks. */
export function warnUnsettled(target: Pick<Target, 'stack' | 'stackStatus'>, warn = printErr): void {
  const between = unsettledText(target);
  if (between !== undefined) warn(between);
}

/** What a person must know of a stack that is between two configurations. */
export function unsettledText({ stack, stackStatus }: Pick<Target, 'stack' | 'stackStatus'>): string | undefined {
  if (isSettled(stackStatus)) return undefined;
  return `The stack ${stack} is in ${stackStatus}: a deployment goes on, or was not finished. Until one has ended well, functions may have another configuration than the template says.`;
}
