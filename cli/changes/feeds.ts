import * as z from 'zod/mini';
import { feedObjectOfKey, feedsOf } from '../../core/changes/chain/feed-keys.ts';
import { type FeedRecord, feedRecordSchema } from '../../core/changes/chain/feed-record.ts';
import { type FeedHead, readHead, stoppedSchema } from '../../core/changes/chain/head.ts';
import { type Entity, entitySchema } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { parseJson } from '../../core/json.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { manyText } from '../support/text.ts';

/** The JSON document of `changes`. */
export const changesSchema = z.object({
  entity: entitySchema,
  feeds: z.array(feedRecordSchema).check(z.describe('In the order of the chain.')),
  stopped: z.nullable(stoppedSchema).check(z.describe('A mass deletion that was stopped.')),
  release: z.nullable(z.string()).check(z.describe('Why a person lets the next feed through.')),
});
export type ChangesDocument = z.infer<typeof changesSchema>;

/** Which feeds are requested; without `date` and `since` the newest. */
export interface WantedFeeds {
  date?: string | undefined;
  /** Feeds after this sequence in the chain. */
  since?: number | undefined;
}

/**
 * The head, and the records of feeds in the order of the chain. Without a date they are those of the current chain.
 * @throws RunError `StorageConflict` (the head cannot be read), `StorageDenied`, `StorageUnavailable`
 */
export async function feedRecords(
  bucket: Bucket,
  entity: Entity,
  { date, since }: WantedFeeds,
): Promise<{ head: FeedHead; feeds: FeedRecord[] }> {
  // The head is read first: a run writes a feed before the head that points to it.
  const { head } = await readHead(bucket, entity);
  const sorted = await recordsAt(bucket, entity, date);
  if (date !== undefined) return { head, feeds: sorted };
  const chain = chainOf(sorted, head);
  return { head, feeds: since === undefined ? chain.slice(-1) : chain.filter(({ sequence }) => sequence > since) };
}

/** A feed on one line: its sequence, its first and last date, and its counts. */
export function feedText({ entity, sequence, kind, from, to, inserts, deletes, updates, rows }: FeedRecord): string {
  const between = from ? `${from.date} to ${to.date}` : to.date;
  const what =
    kind === 'snapshot'
      ? `all ${manyText(rows, 'row')}, which replace everything`
      : `${inserts} inserted, ${deletes} deleted, ${updates} updated`;
  return `${entity}, feed ${sequence}, ${between}: ${what} (${to.run})`;
}

/**
 * The consecutive feeds up to the head. After a chain restarts, feeds of the former chain remain with the same
 * sequence numbers.
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

async function recordsAt(bucket: Bucket, entity: Entity, date = ''): Promise<FeedRecord[]> {
  const listed = await bucket.list(`${feedsOf(entity)}date=${date}`);
  const ofRecords = listed.map(({ key }) => key).filter((key) => feedObjectOfKey(key)?.kind === 'record');
  const texts = await eachOf(ofRecords, async (key) => (await bucket.read(key))?.text);
  const records = texts.flatMap((text) => parseJson(feedRecordSchema, text) ?? []);
  return records.toSorted((one, other) => one.sequence - other.sequence);
}
