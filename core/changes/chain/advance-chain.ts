import { RunError } from '../../errors.ts';
import { compareRuns } from '../../export/pointer.ts';
import { TableError } from '../../table/table-error.ts';
import type { WrittenFeed } from '../write-feed.ts';
import type { FeedStore, NewestTable } from './feed-bucket.ts';
import type { FeedRecord } from './feed-record.ts';
import { type FeedDraft, type FeedEnd, type FeedHead, type FeedPair, NO_FEEDS, type StandingHead } from './head.ts';

/**
 * The chain of feeds: each feed begins at the table at which the previous feed ended (docs/adr/0044). A function
 * compares two tables, then writes the pair into the head. Any function that finds a pair in the head stores its feed,
 * then moves the head to its end: equal pairs give equal bytes. A pair whose tables are gone, or that cannot be
 * compared, is replaced by a snapshot of a newer table, with the next sequence number. If a slow function stores the
 * feed of the replaced pair later, that feed does no harm.
 */

/** The most attempts to advance the chain. One fails only if another function is faster. One feed takes three. */
const ROUNDS = 30;
/** With fewer keys, the share of missing keys is not checked. */
const FEWEST_KEYS = 20;

/**
 * Writes the feeds of an entity up to its newest table. First completes a pair that another function left in the head.
 * @param run the run whose table is new
 * @param maxRemoved the largest share of the keys that may be missing
 * @returns the record of the feed that ends at the table of the given run, if the chain ends there
 * @throws RunError `ChangesStopped`; TableError; errors of the store
 */
export async function advanceChain(store: FeedStore, run: string, maxRemoved: number): Promise<FeedRecord | undefined> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const standing = await store.readHead();
    const { pair, end } = standing.head;
    const done = pair && (await complete(standing, pair, store).catch(asTrouble));
    if (done === true) continue;
    const newest = await store.newest();
    const last = pair?.to ?? end;
    if (newest && (!last || compareRuns(ordered(newest.end), ordered(last)) > 0)) {
      await writePair(standing, newest, maxRemoved, store);
      continue;
    }
    if (done) throw done;
    return end?.run === run ? store.readRecord(end) : undefined;
  }
  throw new RunError('StorageUnavailable', `Other functions wrote the feeds of ${store.entity} at the same time.`);
}

const ordered = (end: NewestTable['end']) => ({ ...end, execution: end.run });

/** Stores the feed of a pair, and moves the head to its end. @returns `false` if there is no feed of this kind any more */
async function complete(standing: StandingHead, pair: FeedPair, store: FeedStore): Promise<boolean> {
  if (!(await store.storeFeed(pair))) return false;
  const { sequence, to, counts } = pair;
  await store.writeHead(standing, { ...NO_FEEDS, sequence, end: { ...to, rows: counts.rows } });
  return true;
}

/** A pair that is too large for the memory or time of this function does not block a newer table. */
function asTrouble(error: unknown): TableError {
  if (error instanceof TableError) return error;
  throw error;
}

/**
 * Compares the newest table with the end of the chain, and writes the pair into the head. If the comparison fails, the
 * head does not change: a table that cannot be compared does not block the chain.
 */
async function writePair(standing: StandingHead, newest: NewestTable, maxRemoved: number, store: FeedStore) {
  const etag = await store.copyBase(newest);
  if (etag === undefined) return;
  const { head } = standing;
  const to: FeedEnd = { ...newest.end, etag };
  const { end: from, release: released, pair: lost } = head;
  const draft = { sequence: (lost ?? head).sequence + 1, from, to, released };
  const compared = await store.compare(draft, lost !== null);
  if (!compared) return;
  const stopped = released === null ? stoppedBy(head, draft, compared, maxRemoved, store.now()) : undefined;
  const { kind, of: _, ...counts } = compared;
  // An unchanged stopped head is written too: otherwise it would expire, with its record of the stopped deletion.
  const next = stopped ? { ...head, stopped } : { ...head, pair: { ...draft, kind, counts } };
  if (!(await store.writeHead(standing, next)) || !stopped) return;
  const what = `${stopped.gone} of ${stopped.keys} ${stopped.of} of ${store.entity} are gone from the table of ${stopped.date}`;
  const limit = `more than ${maxRemoved} of them (entities.${store.entity}.changes.maxRemoved)`;
  throw new RunError('ChangesStopped', `${what}: ${limit}.`);
}

/**
 * The mass deletion that stops the chain, if more keys are missing than allowed. A snapshot without a comparable table
 * counts rows instead: the head contains the number of rows of the previous table. Such a snapshot does not end an
 * earlier stop.
 */
function stoppedBy(
  { stopped }: FeedHead,
  { from, to }: FeedDraft,
  { kind, of, rows, keys, gone }: WrittenFeed,
  maxRemoved: number,
  now: Date,
): FeedHead['stopped'] | undefined {
  const before = from?.rows ?? 0;
  const counted = of === 'keys' ? { keys, gone, of } : { keys: before, gone: before - rows, of };
  // A quotient, because floating point makes 0.29 times 100 less than 29.
  const isFine = counted.keys < FEWEST_KEYS || counted.gone / counted.keys <= maxRemoved;
  if (isFine && !(stopped && of === 'rows')) return undefined;
  // A snapshot does not replace an earlier stop: it follows from changed settings, not from deletions.
  return stopped && kind === 'snapshot' ? stopped : { run: to.run, date: to.date, ...counted, at: now.toISOString() };
}
