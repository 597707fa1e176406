import { CommandError, USAGE } from '../support/exit.ts';
import type { Target, TargetOptions } from '../support/target.ts';

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
