import { isDeepStrictEqual } from 'node:util';
import { feedKey, feedOfKey, feedsOf } from '../../core/changes/chain/feed-keys.ts';
import { type FeedRecord, feedRecordSchema } from '../../core/changes/chain/feed-record.ts';
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

/** Records of feeds, in the order of the chain. @throws RunError `StorageDenied`, `StorageUnavailable` */
export async function feedRecords(bucket: Bucket, entity: Entity, { date, since }: WantedFeeds): Promise<FeedRecord[]> {
  const sorted = await recordsAt(bucket, await keysOf(bucket, entity, date));
  if (since !== undefined) return sorted.filter(({ sequence }) => sequence > since);
  return date === undefined ? sorted.slice(-1) : sorted;
}

/**
 * The last feeds of a chain: none of them is missing or without its rows, and all have one key.
 * @throws RunError `StorageDenied`, `StorageUnavailable`
 */
export async function lastFeeds(bucket: Bucket, entity: Entity): Promise<FeedRecord[]> {
  const keys = await keysOf(bucket, entity);
  const sorted = await recordsAt(bucket, keys);
  const lacks = sorted.findLastIndex((feed, place) => {
    const next = sorted[place + 1];
    const follows = !next || (next.sequence === feed.sequence + 1 && isDeepStrictEqual(next.key, feed.key));
    return !follows || !keys.has(feedKey(entity, feed.to));
  });
  return sorted.slice(lacks + 1);
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
