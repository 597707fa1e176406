import { isDeepStrictEqual } from 'node:util';
import { RunError } from '../../errors.ts';
import { LAYOUT } from '../../export/layout.ts';
import { FeedError, TooLarge } from '../feed-error.ts';
import type { FeedRecord } from './feed-record.ts';
import { BaseGone, type FeedStore, type StandingFeed } from './feed-store.ts';
import type { FeedHead, FeedPair, StandingHead } from './head.ts';
import { judgeDeletion, MassDeletion } from './mass-deletion.ts';
import { begun, isGivenUp, isLeft, pairDigest } from './pairs.ts';

/** A pair that is open, in the head as it was read. */
export interface OpenPair {
  standing: StandingHead;
  pair: FeedPair;
}

/**
 * Goes a step on with an open pair: moves the head where its feed stands, makes the feed otherwise, or gives the pair back.
 * @returns the record of the feed where the head was moved behind it
 * @throws RunError `ChangesStopped`; FeedError; what the store throws
 */
export async function goOn({ standing, pair }: OpenPair, store: FeedStore): Promise<FeedRecord | undefined> {
  const feed = await store.standingFeed(pair.to);
  if (feed?.pair === pairDigest(pair)) return moveHead({ standing, pair }, feed, store);
  const now = store.now();
  const own = begun(pair, now);
  if (isGivenUp(pair, now)) await store.writeHead(standing, { ...standing.head, pair: null });
  else if (await store.writeHead(standing, { ...standing.head, pair: own })) await make(own, isLeft(pair, now), store);
  return undefined;
}

async function moveHead(
  { standing, pair }: OpenPair,
  feed: StandingFeed,
  store: FeedStore,
): Promise<FeedRecord | undefined> {
  const record = recordOf(pair, feed, store);
  await store.putRecord(record);
  const { sequence } = pair;
  const end = { ...pair.to, rows: feed.rows };
  const next: FeedHead = { schemaVersion: LAYOUT, sequence, end, pair: null, stopped: null, release: null };
  return (await store.writeHead(standing, next)) ? record : undefined;
}

function recordOf(pair: FeedPair, feed: StandingFeed, { entity }: FeedStore): FeedRecord {
  const { sequence, kind, from, to, released } = pair;
  const { pair: _, etag, bytes, ...counts } = feed;
  const place = ({ run, date }: { run: string; date: string }) => ({ run, date });
  return {
    ...{ schemaVersion: LAYOUT, entity, sequence, kind, from: from && place(from), to: place(to) },
    ...{ key: to.key, ignore: to.ignore, feed: { etag, bytes }, ...counts, released },
  };
}

/**
 * What would be the same for whoever comes gives the pair back at once; of everything else the pair stays open.
 * @param alone whether nobody who began it before can still write
 */
async function make(pair: FeedPair, alone: boolean, store: FeedStore): Promise<void> {
  try {
    await store.makeFeed(pair, (counts) => judgeDeletion(counts, pair));
  } catch (error) {
    if (error instanceof MassDeletion) return stop(pair, error, store);
    if (error instanceof BaseGone) return withoutBase(pair, alone, store);
    if (error instanceof TooLarge) await giveBackAlone(pair, alone, store);
    else if (error instanceof FeedError) await giveBack(pair, store);
    throw error;
  }
}

/** Whoever read the copies before they went may still write the feed, which must not lie outside of the chain. */
async function withoutBase(pair: FeedPair, alone: boolean, store: FeedStore): Promise<void> {
  if ((await store.standingFeed(pair.to))?.pair === pairDigest(pair)) return;
  const head = await giveBackAlone(pair, alone, store);
  if (head?.pair?.sequence === pair.sequence)
    throw new RunError(
      'StorageUnavailable',
      `A copy of a table of ${store.entity} is gone, and another function may still compare with it.`,
    );
}

/**
 * Gives the pair back unless somebody else, who began it before or behind this function, can still write its feed.
 * @returns the head where it stays as it is
 */
async function giveBackAlone(pair: FeedPair, alone: boolean, store: FeedStore): Promise<FeedHead | undefined> {
  const standing = await store.readHead();
  const { head } = standing;
  if (!alone || !isDeepStrictEqual(head.pair, pair)) return head;
  await store.writeHead(standing, { ...head, pair: null });
  return undefined;
}

async function stop(pair: FeedPair, { keys, gone, of }: MassDeletion, store: FeedStore): Promise<void> {
  const { run, date } = pair.to;
  const stopped = { run, date, of, keys, gone, at: store.now().toISOString() };
  const head = await giveBack(pair, store, { stopped });
  // A person was quicker than this comparison: the next pair is let through.
  if (head?.release) return;
  const since = pair.from ? ` since ${pair.from.date}` : '';
  const what = `${gone} of ${keys} ${of} of ${store.entity} are gone from the table of ${date}${since}`;
  throw new RunError(
    'ChangesStopped',
    `${what}: more than ${pair.maxRemoved} of them (entities.${store.entity}.changes.maxRemoved).`,
  );
}

const ROUNDS = 10;

/** @returns the head without the pair; `undefined` where another has given it back, or finished it */
async function giveBack(pair: FeedPair, store: FeedStore, more: Partial<FeedHead> = {}): Promise<FeedHead | undefined> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const standing = await store.readHead();
    const { head } = standing;
    if (head.pair === null || pairDigest(head.pair) !== pairDigest(pair)) return undefined;
    const next = { ...head, ...more, pair: null };
    if (await store.writeHead(standing, next)) return next;
  }
  throw new RunError(
    'StorageUnavailable',
    `The head of the feeds of ${store.entity} was written by others ${ROUNDS} times.`,
  );
}
