import { GetObjectCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { RunError } from '../errors.ts';
import { type Bucket, createBucket } from '../storage/bucket.ts';
import { refusedCondition, storageError } from '../storage/storage-errors.ts';
import { createUploadOnce, type UploadOnce } from '../storage/upload-once.ts';

/** An object as it stood when it was opened. */
export interface Opened {
  bytes: number;
  etag: string;
  body: AsyncIterable<Uint8Array>;
}

/** The bucket as a batch of updates uses it. Every method throws RunError `StorageDenied` or `StorageUnavailable`. */
export interface BatchStore extends Pick<Bucket, 'putOnce' | 'read'> {
  uploadOnce: UploadOnce;
  /** The whole object, streamed, or `undefined` when there is none. */
  open(key: string): Promise<Opened | undefined>;
  /**
   * Bytes of exactly the version that was opened, `to` excluded.
   * @throws RunError `StorageConflict` when another stands there now, or none
   */
  slice(key: string, etag: string, from: number, to: number): Promise<Buffer>;
  /** Keys under a prefix in their order, at most so many. */
  list(prefix: string, most?: number): Promise<string[]>;
  /** The same of all of them, with what the listing tells. */
  listed(prefix: string): Promise<Listed[]>;
}

/** An object among others, as a listing tells of it. */
interface Listed {
  key: string;
  bytes: number;
  /** When it was written. */
  at: Date | undefined;
}

const ONE_PAGE = 1000;

export function createBatchStore(s3: S3Client, name: string): BatchStore {
  const { putOnce, read } = createBucket(s3, name);
  return {
    putOnce,
    read,
    uploadOnce: createUploadOnce(s3, name),
    open: (key) => open(s3, name, key),
    slice: (key, etag, from, to) => slice(s3, { Bucket: name, Key: key, IfMatch: etag }, from, to),
    list: async (prefix, most) => (await list(s3, name, prefix, most)).map(({ key }) => key),
    listed: (prefix) => list(s3, name, prefix),
  };
}

async function open(s3: S3Client, Bucket: string, Key: string): Promise<Opened | undefined> {
  try {
    const { Body, ContentLength = 0, ETag = '' } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    return { bytes: ContentLength, etag: ETag, body: unbroken(Body as AsyncIterable<Uint8Array>, Key) };
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
    throw storageError(error, 'read', Key);
  }
}

/** A connection that breaks in the middle of an object is the bucket's trouble, not a bug of the reader. */
async function* unbroken(body: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw storageError(error, 'read', key);
  }
}

type Exactly = { Bucket: string; Key: string; IfMatch: string };

async function slice(s3: S3Client, which: Exactly, from: number, to: number): Promise<Buffer> {
  try {
    const { Body } = await s3.send(new GetObjectCommand({ ...which, Range: `bytes=${from}-${to - 1}` }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  } catch (error) {
    const gone = error instanceof Error && error.name === 'NoSuchKey';
    if (!gone && !refusedCondition(error)) throw storageError(error, 'read', which.Key);
    throw changed(which.Key);
  }
}

/** The error for a file that is not the one that was validated. */
export function changed(key: string): RunError {
  return new RunError('StorageConflict', `The object at ${key} is not the one that was validated any more.`);
}

async function list(s3: S3Client, Bucket: string, Prefix: string, most = Number.POSITIVE_INFINITY): Promise<Listed[]> {
  const found: Listed[] = [];
  let ContinuationToken: string | undefined;
  try {
    do {
      const MaxKeys = Math.min(ONE_PAGE, most - found.length);
      const page = await s3.send(new ListObjectsV2Command({ Bucket, Prefix, MaxKeys, ContinuationToken }));
      for (const { Key: key = '', Size: bytes = 0, LastModified: at } of page.Contents ?? [])
        found.push({ key, bytes, at });
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken && found.length < most);
  } catch (error) {
    throw storageError(error, 'read', Prefix);
  }
  return found;
}
