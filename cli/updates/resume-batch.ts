import { setTimeout as sleep } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  type ExecutionListItem,
  paginateListExecutions,
} from '@aws-sdk/client-sfn';
import { keysOf } from '../../core/batch/batch-store.ts';
import { failedLines, TO_RESUME } from '../../core/batch/failed-lines.ts';
import { eachOf } from '../../core/each-of.ts';
import { linesOf } from '../../core/updates/line-blocks.ts';
import { VALIDATED_JSONL } from '../../core/updates/read-updates.ts';
import { commandFor } from '../support/command-options.ts';
import type { TargetOptions } from '../support/target.ts';
import { inputOf, readBatchManifest, resultsOf, resumedBy, resumedName, type UpdatesTarget } from './batch-facts.ts';
import { refused, type UpdateSource } from './update-source.ts';
import { batchOf, executionOf } from './update-status.ts';

/**
 * The lines of a finished batch that were neither applied nor rejected. Empty lines replace the others, so that line
 * numbers stay. The lines are not validated again: they were valid, perhaps by the rules of another release.
 */
export function unfinishedLines({ store }: UpdatesTarget, batch: string): UpdateSource {
  return {
    name: `what is left of ${batch}`,
    reader: VALIDATED_JSONL,
    open: () => inPlace(inputOf(store, batch), failedLines(inputOf(store, batch), resultsOf(store, batch), TO_RESUME)),
    close: async () => undefined,
  };
}

/** Puts lines back at their line numbers in the whole file. All lines differ, because each has its own id. */
async function* inPlace(
  whole: AsyncIterable<Uint8Array>,
  taken: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const waiting = linesOf(taken);
  let next = await waiting.next();
  let gap = 0;
  for await (const line of linesOf(whole)) {
    if (next.done) return;
    if (line !== next.value) {
      gap += 1;
      continue;
    }
    yield Buffer.from(`${'\n'.repeat(gap)}${line}\n`);
    gap = 0;
    next = await waiting.next();
  }
}

/**
 * Refuses a batch that has not ended or was already resumed.
 * @returns its execution if that ended without a summary: its functions may still run
 * @throws CommandError (exit code 2) that says why the batch cannot be resumed
 */
export async function refuseToResume(
  target: UpdatesTarget,
  batch: string,
): Promise<DescribeExecutionCommandOutput | undefined> {
  const { store } = target;
  const manifest = await readBatchManifest(store, batch);
  if (manifest && manifest.counts.FAILED + manifest.counts.UNKNOWN + manifest.counts.NOT_SENT === 0) {
    throw refused(`Every line of ${batch} was applied or rejected: there is nothing to resume.`);
  }
  const execution = manifest ? undefined : await executionOf(target, batch);
  if (execution?.status === 'RUNNING') throw refused(`The batch ${batch} is still under way: wait for its end.`);
  if (await resumedBy(store, batch)) throw resumedAlready(batch);
  return execution;
}

export function resumedAlready(batch: string) {
  const name = resumedName(batch);
  return refused(
    `The batch ${batch} was resumed already, as ${name}: look at that with update-status, and resume that for what it leaves.`,
  );
}

const LISTED = 10;

/**
 * Refuses to resume a batch if later ones began: its older values would overwrite newer ones of the same customers.
 * @throws CommandError (exit code 2) that lists the later batches, or says that they are not known any more
 */
export async function refuseLaterBatches(target: UpdatesTarget, batch: string, options: TargetOptions): Promise<void> {
  const begun = (await executionOf(target, batch))?.startDate;
  if (!begun) {
    for await (const _ of inputOf(target.store, batch)) break;
    throw refused(
      `Step Functions keeps no execution of ${batch} any more, so the batches that began later are not known. Add --over-newer to send its lines even if a later batch changed the same customers.`,
    );
  }
  // Another person who resumes the batch at the same time sends the same lines.
  const own = [batch, resumedName(batch)];
  const later = (await batchesSince(target, begun)).filter((name) => !own.includes(name));
  if (later.length === 0) return;
  const more = later.length > LISTED ? ` and ${later.length - LISTED} more` : '';
  const lines = commandFor(`update-status ${batch} --failed-to FILE.jsonl`, options);
  throw refused(
    `Batches that began after ${batch} may have changed the same customers: ${later.slice(0, LISTED).join(', ')}${more}. To compare the lines yourself, write them to a file: ${lines}. To send them as they are, add --over-newer.`,
  );
}

// DescribeExecution allows a few hundred calls at once, then a few a second:
// https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const PAUSE_MS = 2000;
const MOST_PAUSES = 60;

/** The batches that began at a time or later, newest first: running ones, and those that were claimed. */
async function batchesSince(target: UpdatesTarget, since: Date): Promise<string[]> {
  const { sfn, store, UpdatesStateMachineArn: stateMachineArn } = target;
  const found: ExecutionListItem[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, { stateMachineArn })) {
    // Step Functions lists the newest executions first.
    const later = executions.filter(({ startDate }) => startDate && startDate >= since);
    found.push(...later);
    if (later.length < executions.length) break;
  }
  const batches = await eachOf(found, async ({ executionArn }) => {
    const execution = await describe(target, executionArn);
    const batch = batchOf(execution);
    if (batch === undefined || execution.error === 'UpdateAlreadyStarted') return [];
    // A batch without a claim has sent no line.
    return execution.status === 'RUNNING' || (await store.read(keysOf(batch).started)) ? [batch] : [];
  });
  return [...new Set(batches.flat())];
}

async function describe({ sfn }: UpdatesTarget, executionArn: string | undefined) {
  for (let pauses = 0; ; pauses += 1) {
    try {
      return await sfn.send(new DescribeExecutionCommand({ executionArn }));
    } catch (error) {
      const tooOften = error instanceof Error && error.name === 'ThrottlingException';
      if (!tooOften || pauses === MOST_PAUSES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
