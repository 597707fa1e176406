import { setTimeout } from 'node:timers/promises';
import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { keysOf } from '../lambdas/shared/updates/batch-keys.ts';
import { LONGEST_INVOCATION_SECONDS } from '../lambdas/shared/updates/batch-step.ts';
import { DOUBT } from '../lambdas/shared/updates/parse-results.ts';
import { createStopFlag } from '../lambdas/shared/updates/stop-flag.ts';
import type { Target } from './target.ts';
import type { BatchExecution } from './update-executions.ts';
import { storeOf } from './update-outcome.ts';

/** This machine's clock may be so wrong: beyond, AWS refuses its signatures and the SDK goes by the time of AWS. */
const CLOCK_MS = 300_000;
const LONGEST_MS = LONGEST_INVOCATION_SECONDS * 1000 + CLOCK_MS;

/** How the waiting is done; other times for tests. */
export interface Patience {
  now: () => Date;
  sleep: (milliseconds: number) => Promise<unknown>;
  /** Longer than a reading of the flag may be old (`stop-flag.ts`). */
  pauseMs: number;
}

const PATIENCE: Patience = { now: () => new Date(), sleep: setTimeout, pauseMs: 2000 };

/**
 * Waits until no function of a stopped batch can send any more: an execution that is stopped does not stop its functions. The
 * stop flag is raised first. Behind it, lines are sent only under a claim that stands already, and whose results are not
 * written: so it waits for these results, at most until the time limit of a function has passed since the stop.
 */
export async function drainBatch(
  target: Pick<Target, 's3' | 'sfn' | 'BucketName'>,
  batch: string,
  { stoppedAt }: Pick<BatchExecution, 'stoppedAt'>,
  say: (line: string) => void,
  { now, sleep, pauseMs }: Patience = PATIENCE,
): Promise<void> {
  const awsNow = () => now().getTime() + target.sfn.config.systemClockOffset;
  const end = (stoppedAt?.getTime() ?? awsNow()) + LONGEST_MS;
  if (awsNow() >= end) return;
  const flag = createStopFlag(storeOf(target), keysOf(batch).stop, now);
  const sentence = 'It was stopped, and what is left of it is sent as another batch.';
  await flag.raise({ reason: 'UpdateStopped', sentence, at: now().toISOString() });
  const since = new Date(end - LONGEST_MS - LONGEST_INVOCATION_SECONDS * 1000);
  let told = false;
  await sleep(pauseMs);
  for (let open = await openClaims(target, batch, since); open > 0 && awsNow() < end; ) {
    if (!told) say(waitText(batch, open, new Date(end)));
    told = true;
    await sleep(pauseMs);
    open = await openClaims(target, batch, since);
  }
}

function waitText(batch: string, open: number, end: Date): string {
  const parts = open === 1 ? 'one part' : `${open} parts`;
  return `Functions of ${batch} may still be sending: waiting for the results of ${parts}, until ${end.toISOString().slice(11, 19)} UTC at most (the time limit of a function).`;
}

/**
 * Parts that a function may still be sending: claimed since then, and without results, or with results that another function
 * wrote to close the claim (`chunk-results.ts`).
 */
async function openClaims(target: Pick<Target, 's3' | 'BucketName'>, batch: string, since: Date): Promise<number> {
  const store = storeOf(target);
  const [claimed, written] = [new Set<string>(), new Set<string>()];
  const listing = { Bucket: target.BucketName, Prefix: keysOf(batch).results };
  for await (const { Contents = [] } of paginateListObjectsV2({ client: target.s3 }, listing)) {
    for (const { Key = '', LastModified = since } of Contents) {
      if (Key.endsWith('.jsonl')) written.add(Key);
      else if (LastModified >= since) claimed.add(Key.replace('.begun.json', '.jsonl'));
    }
  }
  let open = 0;
  for (const key of claimed) {
    const text = written.has(key) ? (await store.read(key))?.text : DOUBT;
    if (text?.startsWith(DOUBT)) open += 1;
  }
  return open;
}
