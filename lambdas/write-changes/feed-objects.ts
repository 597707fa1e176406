import { createReadStream } from 'node:fs';
import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { StandingFeed } from '../../core/changes/chain/feed-store.ts';
import { RunError } from '../../core/errors.ts';
import { ParquetUpload } from '../../core/storage/parquet-upload.ts';
import { isGone, storageError } from '../../core/storage/storage-errors.ts';

/** Parts of this size reach 80 GB: S3 takes 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024;

/** What is said of an object, without its bytes. */
export interface HeadOfObject {
  etag: string;
  bytes: number;
  metadata: Record<string, string>;
}

/** Whole Parquet files of a bucket. Every method throws RunError `StorageDenied` or `StorageUnavailable`. */
export interface FeedObjects {
  head(key: string): Promise<HeadOfObject | undefined>;
  /**
   * Stores a file of the disk.
   * @param etag of the object that it replaces; `undefined` where there is none
   * @returns whether nobody came in between
   */
  put(key: string, path: string, metadata: Record<string, string>, etag?: string): Promise<boolean>;
}

/** @param count called for every request, except retries of the client */
export function feedObjects(
  client: S3Client,
  bucket: string,
  count: () => void = () => undefined,
  partBytes = PART_BYTES,
): FeedObjects {
  return {
    head: async (key) => {
      count();
      try {
        const said = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        // The page of something that stands before S3 would pass for an object of nobody.
        if (!said.ETag) throw new RunError('StorageUnavailable', `What was answered for ${key} is no object.`);
        return { etag: said.ETag, bytes: said.ContentLength ?? 0, metadata: said.Metadata ?? {} };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw storageError(error, 'read', key);
      }
    },
    put: async (key, path, metadata, etag) => {
      const upload = new ParquetUpload({ client, bucket, key, count, partBytes }, metadata);
      try {
        for await (const chunk of createReadStream(path)) await upload.write(chunk);
        return (await upload.complete(etag)) !== undefined;
      } finally {
        // What cannot be removed now, the lifecycle rules remove.
        await upload.abort().catch(() => undefined);
      }
    },
  };
}

type FeedCounts = Omit<StandingFeed, 'pair' | 'etag' | 'bytes'>;

/** What the metadata of a feed say: numbers, and the digest of its pair. */
export function feedMetadata(pair: string, counts: FeedCounts): Record<string, string> {
  return { pair, ...Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, String(value)])) };
}

/** The feed of such an object; one of another program is of no pair. */
export function feedOf({ etag, bytes, metadata }: HeadOfObject): StandingFeed {
  const count = (name: string) => Number(metadata[name] ?? 0);
  const changes = { inserts: count('inserts'), deletes: count('deletes'), updates: count('updates') };
  const compared = { unmatched: count('unmatched'), keys: count('keys'), gone: count('gone'), rows: count('rows') };
  return { pair: metadata.pair ?? '', etag, bytes, ...changes, ...compared };
}
