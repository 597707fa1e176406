import { setTimeout } from 'node:timers/promises';
import { keysOf } from '../../core/batch/batch-keys.ts';
import { LONGEST_INVOCATION_SECONDS } from '../../core/batch/batch-step.ts';
import { openClaims } from '../../core/batch/open-claims.ts';
import { createStopFlag } from '../../core/batch/stop-flag.ts';
import type { Target } from '../support/target.ts';
import type { BatchExecution } from './executions.ts';
import { storeOf } from './outcome.ts';

/** How wrong this machine's clock may be: beyond that AWS refuses signatures, and the SDK uses the time of AWS. */
const CLOCK_MS = 300_000;
const LONGEST_MS = LONGEST_INVOCATION_SECONDS * 1000 + CLOCK_MS;

/** Tests use other times. */
export interface Waiting {
  now: () => Date;
  sleep: (milliseconds: number) => Promise<unknown>;
  /** Longer than a reading of the flag may be old (`stop-flag.ts`). */
  pauseMs: number;
}

const WAITING: Waiting = { now: () => new Date(), sleep: (ms) => setTimeout(ms), pauseMs: 2000 };

/**
 * Waits until no function of a stopped batch can send any more, because stopping an execution does not stop its functions.
 * Raises the stop flag first, also for a batch stopped long ago, because a redrive would send again. After that, lines are
 * sent only under existing claims without results: so it waits for those results, at most a function's time limit after the
 * stop.
 */
export async function drainBatch(
  target: Pick<Target, 's3' | 'sfn' | 'BucketName'>,
  batch: string,
  { stoppedAt }: Pick<BatchExecution, 'stoppedAt'>,
  print: (line: string) => void,
  { now, sleep, pauseMs }: Waiting = WAITING,
): Promise<void> {
  const awsNow = () => now().getTime() + target.sfn.config.systemClockOffset;
  const end = (stoppedAt?.getTime() ?? awsNow()) + LONGEST_MS;
  const store = storeOf(target);
  const flag = createStopFlag(store, keysOf(batch).stop);
  const sentence = 'It was stopped, and what is left of it is sent as another batch.';
  await flag.raise({ reason: 'UpdateStopped', sentence, at: now().toISOString() });
  if (awsNow() >= end) return;
  const since = new Date(end - LONGEST_MS - LONGEST_INVOCATION_SECONDS * 1000);
  let reported = false;
  await sleep(pauseMs);
  for (let open = await openClaims(store, batch, since); open > 0 && awsNow() < end; ) {
    if (!reported) print(waitText(batch, open, new Date(end)));
    reported = true;
    await sleep(pauseMs);
    open = await openClaims(store, batch, since);
  }
}

/**
 * Until when functions of a stopped batch without a summary may send; `undefined` where none does any more.
 * @param now this computer's time, which may be wrong by some minutes
 */
export function sendsUntil(stoppedAt: Date, now: Date): Date | undefined {
  const end = new Date(stoppedAt.getTime() + LONGEST_MS);
  return now < end ? end : undefined;
}

function waitText(batch: string, open: number, end: Date): string {
  const parts = open === 1 ? 'one part' : `${open} parts`;
  return `Functions of ${batch} may still be sending: waiting for the results of ${parts}, until ${timeText(end)} UTC at most (the time limit of a function).`;
}

/** `09:30:00` */
export function timeText(time: Date): string {
  return time.toISOString().slice(11, 19);
}
