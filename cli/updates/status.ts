import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  ListExecutionsCommand,
} from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import { keysOf } from '../../core/batch/batch-keys.ts';
import type { Counts } from '../../core/batch/batch-manifest.ts';
import { parseJson } from '../../core/json.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { readBatchManifest } from './outcome.ts';
import { ResultTally } from './tally.ts';
import type { UpdatesTarget } from './updates-target.ts';

/** A batch as `update-status --json` prints it. What is not known is null. */
export interface BatchStatus {
  batch: string;
  /** As Step Functions names it; null where the execution is forgotten. */
  status: string | null;
  error: string | null;
  cause: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  /** Of all records; null while they are not counted. */
  records: number | null;
  /** Of the lines that have an outcome. */
  counts: Counts;
  resultKey: string | null;
  manifestKey: string | null;
}

/** The batches of the newest executions, newest first, without those refused because another execution has their batch. */
export async function lastBatches(target: UpdatesTarget, most: number): Promise<BatchStatus[]> {
  const statuses: BatchStatus[] = [];
  for (const execution of await lastExecutions(target, most)) {
    const batch = batchOf(execution);
    if (batch !== undefined) statuses.push(await statusOf(target, batch, execution));
  }
  return statuses;
}

/** @throws CommandError (exit code 2) when neither bucket nor machine know the batch */
export async function oneBatch(target: UpdatesTarget, batch: string): Promise<BatchStatus> {
  const status = await statusOf(target, batch, await executionOf(target, batch));
  if (status.status !== null || status.manifestKey !== null) return status;
  throw new CommandError(`There is no batch ${batch} here.`, USAGE);
}

async function statusOf(
  { store }: UpdatesTarget,
  batch: string,
  execution: DescribeExecutionCommandOutput | undefined,
): Promise<BatchStatus> {
  const manifest = await readBatchManifest(store, batch);
  const tally = new ResultTally(store, batch);
  if (!manifest) await tally.refresh();
  return {
    batch,
    status: execution?.status ?? null,
    error: execution?.error ?? null,
    cause: execution?.cause ?? null,
    startedAt: execution?.startDate?.toISOString() ?? manifest?.startedAt ?? null,
    finishedAt: execution?.stopDate?.toISOString() ?? manifest?.finishedAt ?? null,
    records: manifest?.input.records ?? null,
    counts: manifest?.counts ?? tally.counts,
    resultKey: manifest?.result.key ?? null,
    manifestKey: manifest ? keysOf(batch).manifest : null,
  };
}

const claimSchema = z.object({ execution: z.string() });

/**
 * The execution that claimed a batch; where none did yet, one of the last 100 whose input names it.
 * @returns `undefined` where none is known any more
 */
export async function executionOf(
  target: UpdatesTarget,
  batch: string,
): Promise<DescribeExecutionCommandOutput | undefined> {
  const { sfn, store, UpdatesStateMachineArn } = target;
  const claim = parseJson(claimSchema, (await store.read(keysOf(batch).started))?.text);
  if (!claim) return (await lastExecutions(target, 100)).find((execution) => batchOf(execution) === batch);
  const describe = new DescribeExecutionCommand({
    executionArn: executionArn(UpdatesStateMachineArn, claim.execution),
  });
  return sfn.send(describe).catch((error: unknown) => {
    // Forgotten after 90 days.
    if (error instanceof Error && error.name === 'ExecutionDoesNotExist') return undefined;
    throw error;
  });
}

export function executionArn(machineArn: string, name: string): string {
  return `${machineArn.replace(':stateMachine:', ':execution:')}:${name}`;
}

async function lastExecutions({ sfn, UpdatesStateMachineArn: stateMachineArn }: UpdatesTarget, maxResults: number) {
  const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn, maxResults }));
  const described = await Promise.all(
    executions.map(({ executionArn }) => sfn.send(new DescribeExecutionCommand({ executionArn }))),
  );
  return described.filter(({ error }) => error !== 'UpdateAlreadyStarted');
}

const inputSchema = z.object({ file: z.string() });

function batchOf({ input }: DescribeExecutionCommandOutput): string | undefined {
  return /^updates\/([^/]+)\/input\.jsonl$/.exec(parseJson(inputSchema, input)?.file ?? '')?.[1];
}
