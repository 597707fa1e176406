import type { AsyncBuffer } from 'hyparquet';
import { feedKey } from '../../core/changes/chain/feed-keys.ts';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { FeedError } from '../../core/changes/feed-error.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import { RunError } from '../../core/errors.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { readObject } from '../../core/storage/read-object.ts';
import { failed } from '../data/find.ts';
import { CommandError } from '../support/exit.ts';

/** Columns of a row group lie one behind the other, and so do row groups: a request takes some of them at once. */
const BYTES_AHEAD = 8 * 1024 * 1024;

/** The rows of a feed as hyparquet reads them, by the ETag that its record names; these bytes and no more are in memory. */
export function feedFile(bucket: Bucket, { entity, to, feed: { bytes, etag } }: FeedRecord): AsyncBuffer {
  const key = feedKey(entity, to);
  let from = 0;
  let held: Uint8Array = new Uint8Array();
  const slice = async (start: number, end = bytes) => {
    if (start < from || end > from + held.length) {
      const part = { from: start, to: Math.min(bytes, Math.max(end, start + BYTES_AHEAD)), size: bytes };
      held = await wholeOf(readObject(bucket, key, { ...part, object: { etag } }));
      from = start;
    }
    return Uint8Array.from(held.subarray(start - from, end - from)).buffer;
  };
  return { byteLength: bytes, slice };
}

async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** What reading a feed threw, as a sentence. @returns a CommandError (exit code 1) but where the bucket or the rights are the reason */
export function unreadFeed({ entity, sequence, to }: FeedRecord, error: unknown): unknown {
  const key = feedKey(entity, to);
  const feed = `The feed ${sequence} of ${entity}, which ends at ${to.date},`;
  const later = `Those behind it: ${CRM_EXPORT} changes ${entity} --since ${sequence}`;
  if (error instanceof CommandError) return error;
  if (!(error instanceof RunError))
    return failed(`${feed} cannot be read: ${key} is damaged (${messageOf(error)}). ${later}`, error);
  if (error.name !== 'StorageConflict') return error;
  return failed(`${feed} has lost its rows: ${key} is gone, or is not the one that its record names. ${later}`, error);
}

/** What a reader of tables says is of tables: the reason behind it is of the file. */
function messageOf(error: unknown): string {
  const why = error instanceof FeedError ? (error.cause ?? error) : error;
  return why instanceof Error ? why.message : String(why);
}
