import * as z from 'zod/mini';
import { storedAs } from '../export/layout.ts';
import type { Bucket } from '../storage/bucket.ts';

const sinceSchema = z.object({ since: z.iso.datetime() });

/** Not below `published/`, whose objects expire: this object stays as long as the bucket. */
export const SINCE_KEY = 'nights/since.json';

/**
 * The time from which on nights are checked: the time of the first check, which writes it once.
 * @throws RunError `StorageConflict`, `StorageDenied`, `StorageUnavailable`
 */
export async function watchedSince(bucket: Pick<Bucket, 'read' | 'putOnce'>, now: Date): Promise<Date> {
  const object = await bucket.read(SINCE_KEY);
  const problem = 'has no valid date for the first checked night';
  if (object) return new Date(storedAs(sinceSchema, SINCE_KEY, object.text, problem).since);
  // If two checks run at the same time, the first write counts. Their times hardly differ.
  await bucket.putOnce(SINCE_KEY, JSON.stringify({ since: now.toISOString() }));
  return now;
}
