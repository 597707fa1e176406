import type { Entity } from '../../../core/config/entities.ts';
import type { DeployedStack } from '../../checks/deployed-stack.ts';
import type { Target, TargetOptions } from '../../support/target.ts';
import type { CheckedUpdates } from '../../updates/check-updates.ts';
import type { Pace } from './pace.ts';
import type { Runs } from './runs.ts';

/** One verify: the deployment, and what its checks share. */
export interface Verifying {
  target: Target;
  /** Options for commands to paste. */
  place: TargetOptions;
  /** What the deployed template says. */
  stack: DeployedStack;
  runs: Runs;
  entity: Entity;
  /** Tells what this verify made from what others did. */
  id: string;
  /** Whether an alarm may be set, which mails people. */
  alarm: boolean;
  /** The one line that may be sent as a batch. */
  updates: CheckedUpdates | undefined;
  /** Why nothing may be made; `undefined` where it may. */
  readOnly: string | undefined;
  pace: Pace;
  signal: AbortSignal;
}
