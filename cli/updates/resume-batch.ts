import { setTimeout } from 'node:timers/promises';
import { openClaims } from '../../core/batch/batch-results.ts';
import { createStopFlag, LONGEST_INVOCATION_SECONDS } from '../../core/batch/batch-state.ts';
import { keysOf } from '../../core/batch/batch-store.ts';
import { failedLines, TO_RESUME } from '../../core/batch/failed-lines.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import { eachOf } from '../../core/each-of.ts';
import { JSONL } from '../../core/updates/read-updates.ts';
import { printErr } from '../support/print.ts';
import { refused, type UpdateSource } from './update-source.ts';
import {
  type BatchStatus,
  batchExecutions,
  hasBegun,
  inputOf,
  resultsOf,
  resumedName,
  sendsUntil,
  type UpdatesTarget,
} from './update-status.ts';

/** The lines of a finished batch that were neither applied nor rejected, at their line numbers. */
export function unfinishedLines({ store }: UpdatesTarget, batch: string): UpdateSource {
  const how = { outcomes: TO_RESUME, inPlace: true };
  return {
    name: `what is left of ${batch}`,
    reader: JSONL,
    open: () => failedLines(inputOf(store, batch), resultsOf(store, batch), how),
  };
}

/**
 * @throws CommandError (exit code 2) for a batch that has not ended, never began, was already resumed, or leaves nothing
 *  to send
 */
export async function refuseToResume(
  { store }: UpdatesTarget,
  { batch, status, resumedAs, manifestKey, counts }: BatchStatus,
): Promise<void> {
  if (status === 'RUNNING') throw refused(`The batch ${batch} is still under way: wait for its end.`);
  if (manifestKey === null && !(await hasBegun(store, batch))) {
    throw refused(
      `The batch ${batch} ended before it sent a line. Send its file again. If it was to resume another batch, resume that one.`,
    );
  }
  if (manifestKey !== null && counts.FAILED + counts.UNKNOWN + counts.NOT_SENT === 0) {
    throw refused(`Every line of ${batch} was applied or rejected: there is nothing to resume.`);
  }
  if (resumedAs === null) return;
  throw refused(
    `The batch ${batch} was already resumed as ${resumedAs}. Look at that batch with update-status, and resume it for what is left.`,
  );
}

const LISTED = 10;

/**
 * Refuses to resume a batch if later ones began: its older values would overwrite newer ones of the same customers.
 * @throws CommandError (exit code 2) that lists the later batches, or says that they are not known any more
 */
export async function refuseLaterBatches(
  target: UpdatesTarget,
  { batch, status, startedAt }: BatchStatus,
): Promise<void> {
  if (status === null) {
    throw refused(
      `Step Functions no longer has the execution of ${batch}, so later batches are unknown. Add --over-newer to send its lines even if a later batch changed the same customers.`,
    );
  }
  const executions = await batchExecutions(target, { since: new Date(startedAt) });
  const begun = await eachOf(executions, async ({ batch: name, execution }) => {
    // A batch without a claim has sent no line.
    return execution.status === 'RUNNING' || (await hasBegun(target.store, name)) ? [name] : [];
  });
  // Another person who resumes the batch at the same time sends the same lines.
  const own = [batch, resumedName(batch)];
  const later = [...new Set(begun.flat())].filter((name) => !own.includes(name));
  if (later.length === 0) return;
  const lines = `${CRM_EXPORT} update-status ${batch} --failed-to FILE.jsonl`;
  throw refused(
    `Batches that started after ${batch} may have changed the same customers: ${later.slice(0, LISTED).join(', ')}${later.length > LISTED ? ', …' : '.'} To compare the lines yourself, write them to a file: ${lines}. To send them as they are, add --over-newer.`,
  );
}

/** The pause is longer than the time for which functions cache the flag (`batch-state.ts`). */
const PAUSE_MS = 2000;

/**
 * Waits until no function of a stopped batch can send, because stopping an execution does not stop its functions. First
 * raises the stop flag, even for an old batch, because a redrive would send again. Then functions send only lines that
 * are claimed and have no result. It waits for these results, at most the time limit of a function after the stop.
 */
export async function drainBatch(
  { sfn, store }: UpdatesTarget,
  { batch, endedAt }: Pick<BatchStatus, 'batch' | 'endedAt'>,
): Promise<void> {
  const awsNow = () => new Date(Date.now() + sfn.config.systemClockOffset);
  const stoppedAt = endedAt ?? awsNow().toISOString();
  const end = sendsUntil(stoppedAt);
  const sentence = 'The batch was stopped, and its remaining lines are sent as another batch.';
  const at = new Date().toISOString();
  await createStopFlag(store, keysOf(batch).stop).raise({ reason: 'UpdateStopped', sentence, at });
  const since = new Date(Date.parse(stoppedAt) - LONGEST_INVOCATION_SECONDS * 1000);
  for (let reported = false; awsNow() < end; reported = true) {
    await setTimeout(PAUSE_MS);
    const open = await openClaims(store, batch, since);
    if (open === 0) return;
    if (reported) continue;
    const parts = open === 1 ? 'one part' : `${open} parts`;
    printErr(
      `Functions of ${batch} may still be sending: waiting for the results of ${parts}, until ${end.toISOString()} at most (the time limit of a function).`,
    );
  }
}
