import { randomBytes } from 'node:crypto';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { CommandError, ENVIRONMENT } from './exit.ts';
import type { Target } from './target.ts';

/** How a batch is applied; what is left out comes from the configuration. */
export interface BatchOptions {
  /** Changes per second. */
  maxRate?: number;
  stopAfterFailures?: number;
}

/**
 * Starts the machine on an uploaded file. The execution is named after the batch.
 * @param file key of the file in the bucket, `updates/BATCH/input.jsonl`
 * @returns the ARN of the execution
 * @throws CommandError (exit code 3) when the deployment has no such machine
 */
export async function startBatch(
  { sfn, UpdatesStateMachineArn }: Pick<Target, 'sfn' | 'UpdatesStateMachineArn'>,
  file: string,
  options: BatchOptions = {},
): Promise<string> {
  if (!UpdatesStateMachineArn) {
    throw new CommandError(
      'This deployment does not update customers: set customerUpdates in its configuration, deploy, authorize.',
      ENVIRONMENT,
    );
  }
  const started = await sfn.send(
    new StartExecutionCommand({
      stateMachineArn: UpdatesStateMachineArn,
      name: `${file.split('/')[1]}-${randomBytes(3).toString('hex')}`,
      input: JSON.stringify({ file, ...options }),
    }),
  );
  return started.executionArn ?? '';
}
