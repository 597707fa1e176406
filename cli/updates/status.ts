import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  type DescribeExecutionOutput,
  ListExecutionsCommand,
} from '@aws-sdk/client-sfn';
import * as z from 'zod/mini';
import type { BatchManifest, Counts } from '../../core/batch/batch-results.ts';
import { keysOf } from '../../core/batch/batch-store.ts';
import { parseJson } from '../../core/json.ts';
import { foundRun, type Run, readInput, runOf } from '../runs/run.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { readBatchManifest } from './outcome.ts';
import { resumedBy } from './resumed-name.ts';
import { ResultTally } from './tally.ts';
import type { UpdatesTarget } from './updates-target.ts';

/** A batch as `--json` prints it. What is not known is null. */
export interface BatchStatus extends Run {
  batch: string;
  /** Counts of all records; null while they are not counted. */
  records: number | null;
  /** The batch that resumes it. */
  resumedAs: string | null;
  /** Counts of the lines that have an outcome. */
  counts: Counts;
  resultKey: string | null;
}

/** The batches of the newest executions, newest first, without those refused because another execution has their batch. */
export async function lastBatches(target: UpdatesTarget, most: number): Promise<BatchStatus[]> {
  const statuses: BatchStatus[] = [];
  for (const execution of await lastExecutions(target, most)) {
    const batch = batchOf(execution);
    if (batch === undefined) continue;
    statuses.push(await statusOf(target, batch, execution, await readBatchManifest(target.store, batch)));
  }
  return statuses;
}

/** @throws CommandError (exit code 2) when neither bucket nor machine know the batch */
export async function oneBatch(target: UpdatesTarget, batch: string): Promise<BatchStatus> {
  const execution = await executionOf(target, batch);
  const manifest = await readBatchManifest(target.store, batch);
  const known = execution ?? (manifest && { name: batch, startDate: new Date(manifest.startedAt) });
  if (known) return statusOf(target, batch, known, manifest);
  throw new CommandError(`There is no batch ${batch} here.`, USAGE);
}

/** @param execution without an ARN where Step Functions has deleted it */
export async function statusOf(
  { store }: UpdatesTarget,
  batch: string,
  execution: Partial<DescribeExecutionOutput>,
  manifest: BatchManifest | undefined,
): Promise<BatchStatus> {
  const tally = new ResultTally(store, batch);
  if (!manifest) await tally.refresh();
  const run = runOf({ ...foundRun(execution, undefined, 'update'), execution });
  const { counts, input, result, finishedAt, keptUntil = null } = manifest ?? {};
  const outcome = counts && counts.APPLIED === input?.records ? 'applied' : 'failed';
  const left = { status: null, executionArn: null, endedAt: finishedAt ?? null, outcome } as const;
  return {
    ...run,
    ...(execution.executionArn === undefined && { ...left, needsPerson: outcome === 'failed' }),
    what: 'update',
    of: batch,
    keptUntil,
    manifestKey: manifest ? keysOf(batch).manifest : null,
    batch,
    records: input?.records ?? null,
    resumedAs: (await resumedBy(store, batch)) ?? null,
    counts: counts ?? tally.counts,
    resultKey: result?.key ?? null,
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
    // Step Functions has forgotten the execution after 90 days.
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

export function batchOf(execution: DescribeExecutionCommandOutput): string | undefined {
  const { what, of } = readInput(execution.input);
  return what === 'update' ? of : undefined;
}
