import { setTimeout } from 'node:timers/promises';
import { openClaims } from '../../core/batch/batch-results.ts';
import { createStopFlag, LONGEST_INVOCATION_SECONDS } from '../../core/batch/batch-state.ts';
import { keysOf } from '../../core/batch/batch-store.ts';
import { printErr } from '../support/print.ts';
import type { UpdatesTarget } from './updates-target.ts';

/** How wrong this machine's clock may be: beyond that AWS refuses signatures, and the SDK uses the time of AWS. */
const CLOCK_MS = 300_000;
const LONGEST_MS = LONGEST_INVOCATION_SECONDS * 1000 + CLOCK_MS;
/** The pause is longer than a reading of the flag may be old (`batch-state.ts`). */
const PAUSE_MS = 2000;

/**
 * Waits until no function of a stopped batch can send any more: stopping an execution does not stop its functions. Raises the
 * stop flag first, also for a batch stopped long ago, because a redrive would send again. After that, lines are sent only under
 * existing claims without results: it waits for those results, at most a function's time limit after the stop.
 */
export async function drainBatch({ sfn, store }: UpdatesTarget, batch: string, stoppedAt: Date | undefined) {
  const awsNow = () => Date.now() + sfn.config.systemClockOffset;
  const end = (stoppedAt?.getTime() ?? awsNow()) + LONGEST_MS;
  const sentence = 'It was stopped, and what is left of it is sent as another batch.';
  const at = new Date().toISOString();
  await createStopFlag(store, keysOf(batch).stop).raise({ reason: 'UpdateStopped', sentence, at });
  const since = new Date(end - LONGEST_MS - LONGEST_INVOCATION_SECONDS * 1000);
  for (let reported = false; awsNow() < end; reported = true) {
    await setTimeout(PAUSE_MS);
    const open = await openClaims(store, batch, since);
    if (open === 0) return;
    const parts = open === 1 ? 'one part' : `${open} parts`;
    if (reported) continue;
    printErr(
      `Functions of ${batch} may still be sending: waiting for the results of ${parts}, until ${timeText(end)} UTC at most (the time limit of a function).`,
    );
  }
}

/**
 * Until when functions of a stopped batch without a summary may send, such as `09:30:00`; `undefined` where none does
 * any more. The time is by this computer's clock, which may be wrong by some minutes.
 */
export function sendsUntil(stoppedAt: string): string | undefined {
  const end = Date.parse(stoppedAt) + LONGEST_MS;
  return Date.now() < end ? timeText(end) : undefined;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}
