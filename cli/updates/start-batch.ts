import { randomBytes } from 'node:crypto';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { keysOf } from '../../core/batch/batch-keys.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
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
 * @throws CommandError (exit code 3) when the deployment has no such machine
 */
export async function startBatch(target: Starting, file: string, options: BatchOptions = {}): Promise<string> {
  return startNamed(target, `${batchIn(file)}-${randomBytes(3).toString('hex')}`, file, options);
}

/**
 * The same for a batch that resumes another. Somebody may do so at the same time: the execution that both start is one, by
 * its name.
 * @returns `undefined` where another execution has the batch, or had it
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
  // It was refused before it claimed the batch.
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
  if (!UpdatesStateMachineArn) {
    throw new CommandError(
      'This deployment does not update customers: set customerUpdates in its configuration, deploy, authorize.',
      ENVIRONMENT,
    );
  }
  const input = JSON.stringify({ file, ...options });
  const start = new StartExecutionCommand({ stateMachineArn: UpdatesStateMachineArn, name, input });
  return (await sfn.send(start)).executionArn ?? '';
}
