import { createHash } from 'node:crypto';
import type { Entity } from '../../config/entities.ts';
import { RunError } from '../../errors.ts';
import { LAYOUT } from '../../export/layout.ts';
import { compareRuns, type OrderedRun } from '../../export/pointer.ts';
import { canonicalText } from '../../json.ts';
import { TableError } from '../../table/table-error.ts';
import type { WrittenFeed } from '../write-feed.ts';
import type { FeedRecord } from './feed-record.ts';
import { type FeedEnd, type FeedHead, type FeedPair, NO_FEEDS, type StandingHead } from './head.ts';

/**
 * The chain of feeds: each feed begins at the table at which the previous feed ended (docs/adr/0044). A function
 * compares two tables, then writes the pair into the head. Any function that finds a pair in the head stores its feed:
 * equal pairs give equal bytes.
 */

/** The configuration of an entity's feeds, with the names of table columns, and the run whose table is new. */
export interface FeedSettings {
  run: string;
  key: string[];
  ignore: string[];
  /** Largest share of the keys that may be missing. */
  maxRemoved: number;
}

/** The newest published run, if its table exists. */
export interface NewestTable extends OrderedRun {
  table: { key: string; etag: string; bytes: number; settings: string };
}

/** Two tables to compare, in the order of the chain. */
type FeedDraft = Pick<FeedPair, 'sequence' | 'from' | 'to' | 'released'>;

/**
 * The feeds of an entity. Every method throws RunError `StorageConflict`, `StorageDenied` or `StorageUnavailable`.
 * Methods that read tables throw TableError as well.
 */
export interface FeedStore {
  entity: Entity;
  now(): Date;
  readHead(): Promise<StandingHead>;
  /** `false` if another function was faster. */
  writeHead(standing: StandingHead, next: FeedHead): Promise<boolean>;
  /** `undefined` if the newest run is partial, or has no table of today's column settings. */
  newest(): Promise<NewestTable | undefined>;
  /**
   * Copies the table to the base of its run. A copy of an older table of the run is replaced: no feed has ended at it.
   * @returns the ETag of the copy; `undefined` if the table has changed
   */
  copyBase(newest: NewestTable): Promise<string | undefined>;
  /**
   * Compares the copies of two tables. Stores nothing. Without a copy of `from`, the feed is a snapshot.
   * @throws BaseGone without a copy of `to`, or if `to` has other column settings than today's
   */
  compare(draft: FeedDraft): Promise<WrittenFeed>;
  /** The stored feed that ends at a table, with the digest of its pair. */
  standingFeed(to: FeedEnd): Promise<{ pair: string; etag: string; bytes: number } | undefined>;
  /** Stores the result of the last comparison, once. It replaces the feed of another pair. */
  putFeed(pair: FeedPair): Promise<void>;
  /** Stores the record of a feed. Storing the same record again succeeds. */
  putRecord(record: FeedRecord): Promise<void>;
  /** `undefined` if it is no longer kept. */
  readRecord(to: FeedEnd): Promise<FeedRecord | undefined>;
}

/** The copy of a table is missing, or has been replaced. Another function may still compare with it. */
export class BaseGone extends RunError {
  constructor(entity: Entity) {
    super('StorageUnavailable', `A copy of a table of ${entity} is missing.`);
  }
}

/** A round fails only if another function gets further. One feed takes three rounds. */
const ROUNDS = 30;
/** With fewer keys, the share of missing keys is not checked. */
const FEWEST_KEYS = 20;
/** Longer than a function can run: the limit of Lambda is 15 minutes. */
const SURELY_ENDED_MS = 20 * 60_000;

/**
 * Writes the feeds of an entity up to its newest table. First completes a pair that another function left in the head.
 * @returns the record of the feed at the head's end, if this function completed it or it ends at the given run: after a
 *   lost answer, a function does not know that it completed a feed
 * @throws RunError `ChangesStopped`; TableError; errors of the store
 */
export async function advance(store: FeedStore, settings: FeedSettings): Promise<FeedRecord | undefined> {
  let finished: FeedRecord | undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const standing = await store.readHead();
    const { pair, sequence, end } = standing.head;
    if (pair) {
      finished = (await goOn(standing, pair, store)) ?? finished;
      continue;
    }
    const newest = await store.newest();
    if (!newest || (end && compareRuns({ ...end, execution: end.run }, newest) >= 0))
      return finished?.sequence === sequence ? finished : end?.run === settings.run ? store.readRecord(end) : undefined;
    await begin(standing, newest, settings, store);
  }
  throw new RunError('StorageUnavailable', `Other functions wrote the feeds of ${store.entity} at the same time.`);
}

/**
 * Continues with the pair in the head: moves the head to its end if its feed is stored, otherwise stores the feed. If
 * the tables can no longer be compared, the pair is removed, but only after no function can still store its feed: a
 * feed must not lie outside the chain.
 */
async function goOn(standing: StandingHead, pair: FeedPair, store: FeedStore): Promise<FeedRecord | undefined> {
  const feed = await store.standingFeed(pair.to);
  if (feed?.pair === pairDigest(pair)) {
    const { sequence, kind, from, to, released, counts } = pair;
    const place = ({ run, date }: FeedEnd) => ({ run, date });
    const record: FeedRecord = {
      ...{ schemaVersion: LAYOUT, entity: store.entity, sequence, kind, from: from && place(from), to: place(to) },
      ...{ key: to.key, ignore: to.ignore, feed: { etag: feed.etag, bytes: feed.bytes } },
      ...{ ...counts, settings: to.settings, released },
    };
    await store.putRecord(record);
    const next = { ...NO_FEEDS, sequence, end: { ...to, rows: counts.rows } };
    return (await store.writeHead(standing, next)) ? record : undefined;
  }
  try {
    const compared = await store.compare(pair);
    if (compared.kind !== pair.kind) throw new BaseGone(store.entity);
    // Without the copy of the table before, a snapshot has the same rows, but the counts are not known any more.
    await putPair(standing, pair, { ...compared, ...pair.counts }, store);
  } catch (error) {
    const isLeft = store.now().getTime() - Date.parse(pair.attemptedAt) > SURELY_ENDED_MS;
    if (!isLeft || !(error instanceof BaseGone || error instanceof TableError)) throw error;
    await store.writeHead(standing, { ...standing.head, pair: null });
  }
  return undefined;
}

/** Identifies a pair in the metadata of its feed: 32 hexadecimal digits. */
export function pairDigest({ sequence, kind, from, to, released }: FeedPair): string {
  const text = canonicalText({ sequence, kind, from, to, released });
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/**
 * Compares the newest table with the end of the chain. Before that succeeds, the head stays as it is: so a table that
 * cannot be compared does not block the chain.
 */
async function begin(
  standing: StandingHead,
  newest: NewestTable,
  { key, ignore, maxRemoved }: FeedSettings,
  store: FeedStore,
): Promise<void> {
  const etag = await store.copyBase(newest);
  if (etag === undefined) return;
  const { execution: run, date, startedAt, kind, table } = newest;
  const { end: from, release: released, sequence } = standing.head;
  const to: FeedEnd = { run, date, startedAt, kind, etag, key, ignore, settings: table.settings };
  const draft = { sequence: sequence + 1, from, to, released };
  const compared = await store.compare(draft);
  if (released === null && (await isStopped(standing, draft, compared, { maxRemoved, store }))) return;
  await putPair(standing, draft, compared, store);
}

/** Writes the pair into the head and stores its feed. */
async function putPair(standing: StandingHead, draft: FeedDraft, compared: WrittenFeed, store: FeedStore) {
  const { sequence, from, to, released } = draft;
  const { kind, of: _, ...counts } = compared;
  const pair = { sequence, kind, from, to, released, counts, attemptedAt: store.now().toISOString() };
  if (await store.writeHead(standing, { ...standing.head, pair })) await store.putFeed(pair);
}

/**
 * Stops the chain if more keys are missing than allowed. A snapshot without a comparable table counts rows instead: the
 * head contains the number of rows of the previous table. Such a snapshot does not end an earlier stop.
 * @returns whether another function was faster
 * @throws RunError `ChangesStopped`
 */
async function isStopped(
  standing: StandingHead,
  { from, to }: FeedDraft,
  { kind, of, rows, keys, gone }: WrittenFeed,
  { maxRemoved, store }: { maxRemoved: number; store: FeedStore },
): Promise<boolean> {
  const { head } = standing;
  const before = from?.rows ?? 0;
  const counted = of === 'keys' ? { keys, gone, of } : { keys: before, gone: before - rows, of };
  // A quotient, because floating point makes 0.29 times 100 less than 29.
  const isFine = counted.keys < FEWEST_KEYS || counted.gone / counted.keys <= maxRemoved;
  if (isFine && !(head.stopped && of === 'rows')) return false;
  // The first stopped deletion stays: a later snapshot comes from changed settings.
  const stopped =
    head.stopped && kind === 'snapshot'
      ? head.stopped
      : { run: to.run, date: to.date, ...counted, at: store.now().toISOString() };
  // The head is also written if it stays the same: otherwise it would expire, and with it the stopped deletion.
  if (!(await store.writeHead(standing, { ...head, stopped }))) return true;
  const what = `${stopped.gone} of ${stopped.keys} ${stopped.of} of ${store.entity} are gone from the table of ${stopped.date}`;
  const limit = `more than ${maxRemoved} of them (entities.${store.entity}.changes.maxRemoved)`;
  throw new RunError('ChangesStopped', `${what}: ${limit}.`);
}
