import { isDeepStrictEqual } from 'node:util';
import { RunError } from '../../errors.ts';
import { compareRuns } from '../../export/pointer.ts';
import type { FeedRecord } from './feed-record.ts';
import { BaseGone, type FeedStore, type NewestTable } from './feed-store.ts';
import { goOn } from './finish.ts';
import type { FeedEnd, FeedHead, FeedPair, StandingHead } from './head.ts';
import { type FeedSettings, nextPair } from './pairs.ts';

/** A round is lost only to others who come on; a feed takes three. */
const ROUNDS = 30;

/**
 * Brings the feeds of an entity to its newest table: finishes what is open, whoever began it, then takes the pair from where the last
 * feed ended to the newest table (docs/adr/0043).
 * @returns the feed that the head ends at, where it was finished here; `undefined` where there was nothing to tell, or others told it
 * @throws RunError `ChangesStopped`; FeedError; what the store throws
 */
export async function advance(store: FeedStore, settings: FeedSettings): Promise<FeedRecord | undefined> {
  let finished: FeedRecord | undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const standing = await store.readHead();
    const { pair, end, sequence } = standing.head;
    if (pair) {
      finished = (await goOn({ standing, pair }, store)) ?? finished;
      continue;
    }
    const newest = await store.newest();
    if (!newest || (end && !isBehind(end, newest))) return finished?.sequence === sequence ? finished : undefined;
    await take(standing, newest, store, settings);
  }
  throw new RunError('StorageUnavailable', `The feeds of ${store.entity} were written by others all the time.`);
}

function isBehind({ run: execution, ...end }: FeedEnd, newest: NewestTable): boolean {
  return compareRuns({ ...end, execution }, newest) < 0;
}

/** Puts the next pair into the head, unless another was quicker. */
async function take(
  standing: StandingHead,
  newest: NewestTable,
  store: FeedStore,
  { key, ignore, maxRemoved }: FeedSettings,
): Promise<void> {
  const etag = await store.copyBase(newest);
  if (etag === undefined) return;
  const { execution: run, date, startedAt, kind: ofRun } = newest;
  const to: FeedEnd = { run, date, startedAt, kind: ofRun, etag, key, ignore };
  const { head } = standing;
  const kind = await kindOf(head.end, to, store);
  if (kind === 'snapshot' && head.stopped && head.release === null) {
    // Written again as it is: the lifecycle rule would remove it, and with it what was stopped, though every night is stopped.
    if (await store.writeHead(standing, head)) throw stillStopped(head.stopped, store);
    return;
  }
  const pair = nextPair(head, to, kind, { maxRemoved, now: store.now() });
  await store.writeHead(standing, { ...head, pair });
}

async function kindOf(from: FeedEnd | null, to: FeedEnd, store: FeedStore): Promise<FeedPair['kind']> {
  const asBefore = from && isDeepStrictEqual([from.key, from.ignore], [to.key, to.ignore]);
  if (!asBefore) return 'snapshot';
  try {
    return (await store.comparable(from, to)) ? 'changes' : 'snapshot';
  } catch (error) {
    if (error instanceof BaseGone) return 'snapshot';
    throw error;
  }
}

function stillStopped({ date, of, keys, gone }: NonNullable<FeedHead['stopped']>, { entity }: FeedStore): RunError {
  const what = `${gone} of ${keys} ${of} of ${entity} were gone from the table of ${date}`;
  const why = 'with its settings or without the table before, it cannot be compared any more';
  return new RunError('ChangesStopped', `${what}, and nobody let that through; ${why}.`);
}
