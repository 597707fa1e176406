import { type BatchStore, createBatchStore } from '../../core/batch/batch-store.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';

/** A deployment that updates customers. */
export interface UpdatesTarget extends Target {
  UpdatesStateMachineArn: string;
  store: BatchStore;
}

/** @throws CommandError (exit code 2) where the deployment has no machine CustomerUpdates */
export async function connectForUpdates(options: TargetOptions): Promise<UpdatesTarget> {
  const target = await connect(options);
  const { UpdatesStateMachineArn, s3, BucketName } = target;
  if (UpdatesStateMachineArn) {
    return Object.assign(target, { UpdatesStateMachineArn, store: createBatchStore(s3, BucketName) });
  }
  throw new CommandError(
    `The deployment ${options.deployment} cannot update customers: set "customerUpdates": true in its configuration, deploy it, then authorize again.`,
    USAGE,
  );
}
