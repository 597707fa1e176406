import type { Bucket } from '../storage/bucket.ts';

/** The metadata of a table. A header allows few characters, and the name of an execution may contain any. */
export function tableMetadata(run: string, settings: string): Record<string, string> {
  return { run: encodeURIComponent(run), settings };
}

/**
 * The table at a key; `undefined` if there is none, or if it is made of the file of another run.
 * @param settings digest of the column settings that the table must have; by default any
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function tableOfRun(
  bucket: Pick<Bucket, 'head'>,
  key: string,
  { run, settings }: { run: string; settings?: string },
): Promise<{ key: string; etag: string; bytes: number } | undefined> {
  const found = await bucket.head(key);
  if (found?.metadata.run !== encodeURIComponent(run)) return undefined;
  if (settings !== undefined && found.metadata.settings !== settings) return undefined;
  return { key, etag: found.etag, bytes: found.bytes };
}
