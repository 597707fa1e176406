import { CommandError, USAGE } from './exit.ts';
import type { Target, TargetOptions } from './target.ts';

/**
 * The ARN of the machine CustomerUpdates.
 * @throws CommandError (exit code 2) where the deployment has none
 */
export function updatesMachineOf(
  { UpdatesStateMachineArn }: Pick<Target, 'UpdatesStateMachineArn'>,
  { deployment }: Pick<TargetOptions, 'deployment'>,
): string {
  if (UpdatesStateMachineArn) return UpdatesStateMachineArn;
  throw new CommandError(
    `The deployment ${deployment} cannot update customers: set "customerUpdates": true in its configuration, deploy it, then authorize again.`,
    USAGE,
  );
}

/** A command to paste, for the same place. */
export function commandFor(command: string, { deployment, profile, region, endpointUrl }: TargetOptions): string {
  const given = { profile, region, 'endpoint-url': endpointUrl, deployment };
  const options = Object.entries(given).flatMap(([name, value]) => (value ? [`--${name} ${quoted(value)}`] : []));
  return `npm run cli -- ${command} ${options.join(' ')}`;
}

/** For a shell. */
function quoted(value: string): string {
  return /^[\w./:@=-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
