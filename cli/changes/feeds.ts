import { isDeepStrictEqual } from 'node:util';
import { feedKey, feedOfKey, feedsOf } from '../../core/changes/chain/feed-keys.ts';
import { type FeedRecord, feedRecordSchema } from '../../core/changes/chain/feed-record.ts';
import { type FeedHead, readHead } from '../../core/changes/chain/head.ts';
import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { parseJson } from '../../core/json.ts';
import type { Bucket } from '../../core/storage/bucket.ts';

/** Which feeds are asked for; none of the two: the newest. */
export interface WantedFeeds {
  date?: string | undefined;
  /** Feeds behind this place in the chain. */
  since?: number | undefined;
}

/**
 * The head, and records of feeds in the order of the chain: those of the chain that stands, but where a date is asked for.
 * @throws RunError `StorageConflict` (the head cannot be read), `StorageDenied`, `StorageUnavailable`
 */
export async function feedRecords(
  bucket: Bucket,
  entity: Entity,
  { date, since }: WantedFeeds,
): Promise<{ head: FeedHead; feeds: FeedRecord[] }> {
  // The head first: the feed that it ends at is there before it.
  const { head } = await readHead(bucket, entity);
  const sorted = await recordsAt(bucket, await keysOf(bucket, entity, date));
  if (date !== undefined) return { head, feeds: sorted };
  const chain = chainOf(sorted, head);
  return { head, feeds: since === undefined ? chain.slice(-1) : chain.filter(({ sequence }) => sequence > since) };
}

/**
 * The last feeds of a chain: none of them is missing or without its rows, and all have one key.
 * @throws RunError as `feedRecords`
 */
export async function lastFeeds(bucket: Bucket, entity: Entity): Promise<FeedRecord[]> {
  const { head } = await readHead(bucket, entity);
  const keys = await keysOf(bucket, entity);
  const chain = chainOf(await recordsAt(bucket, keys), head);
  const lacks = chain.findLastIndex((feed, place) => {
    const next = chain[place + 1];
    const follows = !next || isDeepStrictEqual(next.key, feed.key);
    return !follows || !keys.has(feedKey(entity, feed.to));
  });
  return chain.slice(lacks + 1);
}

/**
 * Feeds that follow each other up to where the head stands. A chain that began anew leaves those of the one before behind, with the
 * same places.
 */
function chainOf(records: FeedRecord[], { sequence, end }: Pick<FeedHead, 'sequence' | 'end'>): FeedRecord[] {
  const chain: FeedRecord[] = [];
  let next = { sequence, run: end?.run };
  for (;;) {
    const feed = records.find((each) => each.sequence === next.sequence && each.to.run === next.run);
    if (!feed) return chain.toReversed();
    chain.push(feed);
    next = { sequence: feed.sequence - 1, run: feed.from?.run };
  }
}

async function keysOf(bucket: Bucket, entity: Entity, date = ''): Promise<Set<string>> {
  const listed = await bucket.list(`${feedsOf(entity)}date=${date}`);
  return new Set(listed.map(({ key }) => key));
}

async function recordsAt(bucket: Bucket, keys: Set<string>): Promise<FeedRecord[]> {
  const ofRecords = [...keys].filter((key) => feedOfKey(key) !== undefined);
  const texts = await eachOf(ofRecords, async (key) => (await bucket.read(key))?.text);
  const records = texts.flatMap((text) => parseJson(feedRecordSchema, text) ?? []);
  return records.toSorted((one, other) => one.sequence - other.sequence);
}
