import { randomBytes } from 'node:crypto';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { keysOf } from '../../core/batch/batch-keys.ts';
import type { Target } from '../support/target.ts';
import { storeOf } from './outcome.ts';

/** How a batch is applied; what is left out comes from the configuration. */
export interface BatchOptions {
  /** Changes per second. */
  maxRate?: number;
  stopAfterFailures?: number;
}

/** What the machine is told besides, of a batch that resumes another. */
interface Resuming extends BatchOptions {
  resumes: string;
}

/**
 * Starts the machine on an uploaded file. The execution is named after the batch.
 * @param file key of the file in the bucket, `updates/BATCH/input.jsonl`
 * @returns the ARN of the execution
 */
export async function startBatch(target: Starting, file: string, options: BatchOptions = {}): Promise<string> {
  return startNamed(target, `${batchIn(file)}-${randomBytes(3).toString('hex')}`, file, options);
}

/**
 * Starts a batch that resumes another. Two who do so at the same time start one execution, by its name.
 * @returns `undefined` where another execution has or had the batch
 */
export async function startResumed(target: Starting, file: string, options: Resuming): Promise<string | undefined> {
  const name = batchIn(file);
  try {
    return await startNamed(target, name, file, options);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ExecutionAlreadyExists')) throw error;
  }
  const executionArn = `${target.UpdatesStateMachineArn?.replace(':stateMachine:', ':execution:')}:${name}`;
  const { status } = await target.sfn.send(new DescribeExecutionCommand({ executionArn }));
  if (status === 'RUNNING' || (await storeOf(target).read(keysOf(name).started))) return undefined;
  // That execution ended before it claimed the batch.
  return startBatch(target, file, options);
}

type Starting = Pick<Target, 'sfn' | 's3' | 'BucketName' | 'UpdatesStateMachineArn'>;

function batchIn(file: string): string {
  return file.split('/')[1] ?? '';
}

async function startNamed(
  { sfn, UpdatesStateMachineArn }: Pick<Target, 'sfn' | 'UpdatesStateMachineArn'>,
  name: string,
  file: string,
  options: BatchOptions,
): Promise<string> {
  const input = JSON.stringify({ file, ...options });
  const start = new StartExecutionCommand({ stateMachineArn: UpdatesStateMachineArn, name, input });
  return (await sfn.send(start)).executionArn ?? '';
}
