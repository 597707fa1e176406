import * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import { parseJson } from '../json.ts';
import type { Bucket } from '../storage/bucket.ts';

const sinceSchema = z.object({ since: z.iso.datetime() });

/** Not below `published/`, whose objects expire: this object stays as long as the bucket. */
export const SINCE_KEY = 'nights/since.json';

/**
 * The time since when nights are checked. The first check writes it, once. Earlier nights are not checked.
 * @throws RunError `StorageConflict`, `StorageDenied`, `StorageUnavailable`
 */
export async function watchedSince(bucket: Pick<Bucket, 'read' | 'putOnce'>, now: Date): Promise<Date> {
  const object = await bucket.read(SINCE_KEY);
  if (object) {
    const found = parseJson(sinceSchema, object.text);
    if (found) return new Date(found.since);
    throw new RunError('StorageConflict', `The object at ${SINCE_KEY} has no valid date for the first checked night.`);
  }
  // If two checks run at the same time, the first write counts. Their times hardly differ.
  await bucket.putOnce(SINCE_KEY, JSON.stringify({ since: now.toISOString() }));
  return now;
}
