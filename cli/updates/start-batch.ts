import { randomBytes } from 'node:crypto';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { keysOf } from '../../core/batch/batch-keys.ts';
import { executionArn } from './status.ts';
import type { UpdatesTarget } from './updates-target.ts';

/** How a batch is applied; what is left out comes from the configuration. */
export interface BatchOptions {
  /** Changes per second. */
  maxRate?: number | undefined;
  stopAfterFailures?: number | undefined;
}

/** A name that sorts by time: `update-20261120T020000-1a2b3c`. */
export function newBatchName(): string {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+Z$/g, '');
  return `update-${stamp}-${randomBytes(3).toString('hex')}`;
}

/**
 * Starts the machine on an uploaded file. The execution is named after the batch.
 * @param file key of the file in the bucket, `updates/BATCH/input.jsonl`
 * @returns the ARN of the execution
 */
export async function startBatch(
  { sfn, UpdatesStateMachineArn: stateMachineArn }: Pick<UpdatesTarget, 'sfn' | 'UpdatesStateMachineArn'>,
  file: string,
  options: BatchOptions = {},
  name = `${batchIn(file)}-${randomBytes(3).toString('hex')}`,
): Promise<string> {
  const input = JSON.stringify({ file, ...options });
  const started = await sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
  return started.executionArn ?? '';
}

/**
 * Starts a batch that resumes another. Two who do so at the same time start one execution, by its name.
 * @returns `undefined` where another execution has or had the batch
 */
export async function startResumed(
  target: UpdatesTarget,
  file: string,
  options: BatchOptions & { resumes: string },
): Promise<string | undefined> {
  const { sfn, store, UpdatesStateMachineArn } = target;
  const name = batchIn(file);
  try {
    return await startBatch(target, file, options, name);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ExecutionAlreadyExists')) throw error;
  }
  const describe = new DescribeExecutionCommand({ executionArn: executionArn(UpdatesStateMachineArn, name) });
  const { status } = await sfn.send(describe);
  if (status === 'RUNNING' || (await store.read(keysOf(name).started))) return undefined;
  // The execution ended before it claimed the batch.
  return startBatch(target, file, options);
}

function batchIn(file: string): string {
  return file.split('/')[1] ?? '';
}
