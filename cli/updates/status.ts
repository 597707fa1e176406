import { keysOf } from '../../core/batch/batch-keys.ts';
import type { BatchManifest, Counts } from '../../core/batch/batch-manifest.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type BatchExecution, executionOf, lastExecutions } from './executions.ts';
import { readBatchManifest, storeOf } from './outcome.ts';
import { ResultTally } from './tally.ts';

/** A batch as `update-status --json` prints it. What is not known is null. */
export interface BatchStatus {
  batch: string;
  /** Step Functions' own word; null where the execution is forgotten. */
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

/** The batches that were started last, newest first. */
export async function lastBatches(target: Target, stateMachineArn: string, most: number): Promise<BatchStatus[]> {
  const executions = await lastExecutions(target.sfn, stateMachineArn, most);
  const statuses: BatchStatus[] = [];
  for (const execution of executions) {
    if (execution.batch !== null) statuses.push(await statusOf(target, execution.batch, execution));
  }
  return statuses;
}

/** @throws CommandError (exit code 2) when neither bucket nor machine know the batch */
export async function oneBatch(target: Target, stateMachineArn: string, batch: string): Promise<BatchStatus> {
  const known = { sfn: target.sfn, store: storeOf(target) };
  const status = await statusOf(target, batch, await executionOf(known, stateMachineArn, batch));
  if (status.status !== null || status.manifestKey !== null) return status;
  throw new CommandError(`There is no batch ${batch} here.`, USAGE);
}

async function statusOf(target: Target, batch: string, execution: BatchExecution | undefined): Promise<BatchStatus> {
  const store = storeOf(target);
  const manifest = await readBatchManifest(store, batch);
  const common = {
    batch,
    status: execution?.status ?? null,
    error: execution?.error ?? null,
    cause: execution?.cause ?? null,
    startedAt: execution?.startedAt?.toISOString() ?? manifest?.startedAt ?? null,
    finishedAt: execution?.stoppedAt?.toISOString() ?? manifest?.finishedAt ?? null,
  };
  if (manifest) return { ...common, ...ofManifest(manifest) };
  const tally = new ResultTally(store, batch);
  await tally.refresh();
  return { ...common, records: null, counts: tally.counts, resultKey: null, manifestKey: null };
}

function ofManifest({ batch, counts, input, result }: BatchManifest) {
  return { records: input.records, counts, resultKey: result.key, manifestKey: keysOf(batch).manifest };
}
