import { DescribeExecutionCommand, ListExecutionsCommand, type SFNClient } from '@aws-sdk/client-sfn';
import * as z from 'zod';
import { keysOf } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { jsonOrUndefined } from '../../core/json.ts';

/** An execution of the machine CustomerUpdates. */
export interface BatchExecution {
  executionArn: string;
  name: string;
  /** The batch that its input names; `null` where the input is none. */
  batch: string | null;
  status: string;
  error: string | null;
  cause: string | null;
  startedAt: Date | undefined;
  stoppedAt: Date | undefined;
}

const inputSchema = z.object({ file: z.string() });

/**
 * The newest executions, newest first, without those refused because another execution has their batch.
 */
export async function lastExecutions(sfn: SFNClient, stateMachineArn: string, most: number): Promise<BatchExecution[]> {
  const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn, maxResults: most }));
  const described = await Promise.all(executions.map(({ executionArn = '' }) => describe(sfn, executionArn)));
  return described.filter(({ error }) => error !== 'UpdateAlreadyStarted');
}

const claimSchema = z.object({ execution: z.string() });

/**
 * The execution that claimed a batch; where none did yet, one of the last 100 whose input names it.
 * @returns `undefined` where none is known any more
 */
export async function executionOf(
  { sfn, store }: { sfn: SFNClient; store: Pick<BatchStore, 'read'> },
  stateMachineArn: string,
  batch: string,
): Promise<BatchExecution | undefined> {
  const claim = claimSchema.safeParse(jsonOrUndefined((await store.read(keysOf(batch).started))?.text));
  if (!claim.success) {
    return (await lastExecutions(sfn, stateMachineArn, 100)).find((execution) => execution.batch === batch);
  }
  const executionArn = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${claim.data.execution}`;
  return describe(sfn, executionArn).catch((error: unknown) => {
    // Forgotten after 90 days.
    if (error instanceof Error && error.name === 'ExecutionDoesNotExist') return undefined;
    throw error;
  });
}

async function describe(sfn: SFNClient, executionArn: string): Promise<BatchExecution> {
  const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  const input = inputSchema.safeParse(jsonOrUndefined(execution.input));
  return {
    executionArn,
    name: execution.name ?? '',
    batch: /^updates\/([^/]+)\/input\.jsonl$/.exec(input.data?.file ?? '')?.[1] ?? null,
    status: execution.status ?? 'RUNNING',
    error: execution.error ?? null,
    cause: execution.cause ?? null,
    startedAt: execution.startDate,
    stoppedAt: execution.stopDate,
  };
}
