import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { RunError } from '../../errors.ts';
import { LAYOUT } from '../../export/layout.ts';
import { compareRuns } from '../../export/pointer.ts';
import { canonicalText } from '../../json.ts';
import { TableError } from '../../table/table-error.ts';
import type { WrittenFeed } from '../write-feed.ts';
import type { FeedRecord } from './feed-record.ts';
import { BaseGone, type FeedStore, type NewestTable, type StandingFeed } from './feed-store.ts';
import type { FeedEnd, FeedHead, FeedPair, StandingHead } from './head.ts';

/**
 * The chain of feeds: each feed begins at the table at which the previous feed ended (docs/adr/0044). A function
 * compares two tables, then writes the pair into the head. Any function that finds a pair in the head stores its feed:
 * equal pairs give equal bytes.
 */

/** The configuration of an entity's feeds, with the names of table columns. */
export interface FeedSettings {
  key: string[];
  ignore: string[];
  /** Largest share of the keys that may be missing. */
  maxRemoved: number;
}

/** A round fails only if another function gets further. One feed takes three rounds. */
const ROUNDS = 30;
/** With fewer keys, the share of missing keys is not checked. */
const FEWEST_KEYS = 20;
/** Longer than a function can run: the limit of Lambda is 15 minutes. */
const SURELY_ENDED_MS = 20 * 60_000;

/**
 * Writes the feeds of an entity up to its newest table. First completes a pair that another function left in the head.
 * @returns the record of the feed at the head's end, if this function completed it
 * @throws RunError `ChangesStopped`; TableError; errors of the store
 */
export async function advance(store: FeedStore, settings: FeedSettings): Promise<FeedRecord | undefined> {
  let finished: FeedRecord | undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const standing = await store.readHead();
    const { pair, sequence } = standing.head;
    if (pair) {
      finished = (await goOn(standing, pair, store)) ?? finished;
      continue;
    }
    const newest = await newerTable(standing.head, store);
    if (!newest) return finished?.sequence === sequence ? finished : undefined;
    const next = await nextPair(standing, newest, settings, store);
    if (next) await makeFeed(standing, next, store);
  }
  throw new RunError('StorageUnavailable', `Other functions wrote the feeds of ${store.entity} all the time.`);
}

/** Continues with the pair in the head: moves the head to its end if its feed is stored, otherwise stores the feed. */
async function goOn(standing: StandingHead, pair: FeedPair, store: FeedStore): Promise<FeedRecord | undefined> {
  const feed = await store.standingFeed(pair.to);
  if (feed?.pair === pairDigest(pair)) return moveHead(standing, { pair, feed }, store);
  await makeFeed(standing, pair, store);
  return undefined;
}

/** Identifies a pair in the metadata of its feed: 32 hexadecimal digits. */
export function pairDigest({ attemptedAt: _, ...pair }: FeedPair): string {
  return createHash('sha256').update(canonicalText(pair)).digest('hex').slice(0, 32);
}

/** The newest table, if it is newer than the end of the chain. */
async function newerTable({ end }: FeedHead, store: FeedStore): Promise<NewestTable | undefined> {
  const newest = await store.newest();
  return newest && end && compareRuns({ ...end, execution: end.run }, newest) >= 0 ? undefined : newest;
}

/** @returns the pair that continues the chain; `undefined` if another function was faster */
async function nextPair(
  standing: StandingHead,
  newest: NewestTable,
  { key, ignore, maxRemoved }: FeedSettings,
  store: FeedStore,
): Promise<FeedPair | undefined> {
  const etag = await store.copyBase(newest);
  if (etag === undefined) return undefined;
  const { execution: run, date, startedAt, kind } = newest;
  const to: FeedEnd = { run, date, startedAt, kind, etag, key, ignore, settings: newest.table.settings };
  const { head } = standing;
  const { end: from, stopped, release, sequence } = head;
  const likeness = from ? await likenessOf(from, to, store) : 'none';
  const asBefore = from && isDeepStrictEqual([from.key, from.ignore], [to.key, to.ignore]);
  const isCompared = likeness === 'rows' && asBefore;
  if (stopped && release === null && likeness === 'none') {
    // Rewrites the unchanged head: otherwise it would expire, and with it the record of the stopped deletion.
    if (await store.writeHead(standing, head)) throw stillStopped(stopped, store);
    return undefined;
  }
  return {
    ...{ sequence: sequence + 1, kind: isCompared ? 'changes' : 'snapshot', from, to },
    ...(!isCompared && likeness !== 'none' && { byKeys: true }),
    ...{ maxRemoved: release === null ? maxRemoved : null, released: release, attemptedAt: store.now().toISOString() },
  };
}

function likenessOf(from: FeedEnd, to: FeedEnd, store: FeedStore) {
  return store.likeness(from, to).catch((error: unknown) => {
    if (error instanceof BaseGone) return 'none' as const;
    throw error;
  });
}

/**
 * Compares both tables, writes the pair into the head and stores its feed. Before the comparison succeeds, the head
 * stays as it is: so a table that cannot be compared does not block the chain.
 */
async function makeFeed(standing: StandingHead, pair: FeedPair, store: FeedStore): Promise<void> {
  const { head } = standing;
  const compared = await store.compare(pair).catch((error: unknown) => giveBack(error, standing, store));
  if (!compared) return;
  const gone = massDeletion(compared, pair);
  if (gone) return stop(gone, standing, pair, store);
  const attemptedAt = store.now().toISOString();
  if (await store.writeHead(standing, { ...head, pair: { ...pair, attemptedAt } })) await store.putFeed(pair, compared);
}

/**
 * Removes a pair whose tables can no longer be compared, although the function that wrote it into the head compared
 * them. The pair is removed only after no function can still store its feed: a feed must not lie outside the chain.
 */
async function giveBack(error: unknown, standing: StandingHead, store: FeedStore): Promise<undefined> {
  const { pair } = standing.head;
  const isLeft = pair && store.now().getTime() - Date.parse(pair.attemptedAt) > SURELY_ENDED_MS;
  if (isLeft && error instanceof TableError) {
    await store.writeHead(standing, { ...standing.head, pair: null });
    return undefined;
  }
  if (!(error instanceof BaseGone)) throw error;
  const what = `A copy of a table of ${store.entity} is gone`;
  throw new RunError('StorageUnavailable', `${what}, and another function may still compare with it.`, {
    cause: error,
  });
}

type Gone = Pick<NonNullable<FeedHead['stopped']>, 'keys' | 'gone' | 'of'>;

/**
 * Counts the missing keys if they are more than the pair allows. A snapshot without a comparable table counts rows
 * instead: the head contains the number of rows of the previous table.
 */
function massDeletion(
  { rows, keys, gone }: WrittenFeed,
  { kind, byKeys, from, maxRemoved }: FeedPair,
): Gone | undefined {
  const before = from?.rows ?? 0;
  const counted: Gone =
    kind === 'changes' || byKeys ? { keys, gone, of: 'keys' } : { keys: before, gone: before - rows, of: 'rows' };
  // A quotient, because floating point makes 0.29 times 100 less than 29.
  const isFine = maxRemoved === null || counted.keys < FEWEST_KEYS || counted.gone / counted.keys <= maxRemoved;
  return isFine ? undefined : counted;
}

async function stop(counted: Gone, standing: StandingHead, pair: FeedPair, store: FeedStore): Promise<void> {
  const { head } = standing;
  const { run, date } = pair.to;
  // The first stopped deletion stays: a later snapshot comes from changed settings.
  const isFirst = head.stopped === null || pair.kind === 'changes';
  const stopped = isFirst ? { run, date, ...counted, at: store.now().toISOString() } : head.stopped;
  if (!(await store.writeHead(standing, { ...head, pair: null, stopped }))) return;
  const { keys, gone, of } = counted;
  const since = pair.from ? ` since ${pair.from.date}` : '';
  throw new RunError(
    'ChangesStopped',
    `${gone} of ${keys} ${of} of ${store.entity} are gone from the table of ${date}${since}: more than ${pair.maxRemoved} of them (entities.${store.entity}.changes.maxRemoved).`,
  );
}

function stillStopped({ date, of, keys, gone }: NonNullable<FeedHead['stopped']>, { entity }: FeedStore): RunError {
  const what = `${gone} of ${keys} ${of} of ${entity} were gone from the table of ${date}, and nobody let that through`;
  return new RunError('ChangesStopped', `${what}; without the table before, this one cannot be compared with it.`);
}

/** @returns the record of the feed, if this function moved the head to its end */
async function moveHead(
  standing: StandingHead,
  { pair, feed }: { pair: FeedPair; feed: StandingFeed },
  store: FeedStore,
): Promise<FeedRecord | undefined> {
  const { sequence, kind, from, to, released } = pair;
  const { pair: _, etag, bytes, ...counts } = feed;
  const place = ({ run, date }: { run: string; date: string }) => ({ run, date });
  const record: FeedRecord = {
    ...{ schemaVersion: LAYOUT, entity: store.entity, sequence, kind, from: from && place(from), to: place(to) },
    ...{ key: to.key, ignore: to.ignore, feed: { etag, bytes }, ...counts, settings: to.settings, released },
  };
  await store.putRecord(record);
  const end = { ...to, rows: feed.rows };
  const next: FeedHead = { schemaVersion: LAYOUT, sequence, end, pair: null, stopped: null, release: null };
  return (await store.writeHead(standing, next)) ? record : undefined;
}
