import { feedOfKey, feedsOf } from '../../core/changes/chain/feed-keys.ts';
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
  const listed = await bucket.list(`${feedsOf(entity)}date=${date ?? ''}`);
  const keys = listed.map(({ key }) => key).filter((key) => feedOfKey(key) !== undefined);
  const texts = await eachOf(keys, async (key) => (await bucket.read(key))?.text);
  const records = texts.flatMap((text) => parseJson(feedRecordSchema, text) ?? []);
  const sorted = records.toSorted((one, other) => one.sequence - other.sequence);
  if (since !== undefined) return sorted.filter(({ sequence }) => sequence > since);
  return date === undefined ? sorted.slice(-1) : sorted;
}
