import type { Bucket } from '../storage/bucket.ts';

export interface StandingTable {
  /** The run whose file the table is made of. */
  run: string;
  /** Digest of the column settings of the table; '' if the table has no digest. */
  settings: string;
  etag: string;
  bytes: number;
}

/** Encodes the metadata of a table: a header allows few characters, and the name of an execution may contain any. */
export function tableMetadata(run: string, settings: string): Record<string, string> {
  return { run: encodeURIComponent(run), settings };
}

/**
 * `undefined` if there is no table.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function standingTable(bucket: Pick<Bucket, 'head'>, key: string): Promise<StandingTable | undefined> {
  const found = await bucket.head(key);
  if (!found) return undefined;
  const { etag, bytes, metadata } = found;
  const { run = '', settings = '' } = metadata;
  try {
    return { etag, bytes, run: decodeURIComponent(run), settings };
  } catch {
    // Another program wrote the table.
    return { etag, bytes, run: '', settings };
  }
}
