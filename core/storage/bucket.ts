import { text } from 'node:stream/consumers';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  PutObjectTaggingCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { RunError } from '../errors.ts';
import { isObjectGone, refusedCondition, storageError } from './storage-errors.ts';

/** The tag that policies for readers in other accounts require. */
export const PUBLISHED_TAG = 'published';

/** The part of a request that sets the tag of the stored object. */
export function taggedWith(value: string | undefined): { Tagging?: string } {
  return value === undefined ? {} : { Tagging: `${new URLSearchParams({ [PUBLISHED_TAG]: value })}` };
}

/** A part of an object; the byte at `to` is not included. */
export interface ObjectPart {
  from?: number;
  to?: number;
  /** The ETag that the object must have. */
  etag?: string | undefined;
}

export interface ObjectStream {
  etag: string;
  /** Length of the part in bytes. */
  bytes: number;
  chunks: AsyncIterable<Uint8Array>;
}

export interface ObjectHead {
  etag: string;
  bytes: number;
  metadata: Record<string, string>;
}

interface ListedObject {
  key: string;
  bytes: number;
  at: Date | undefined;
}

/**
 * The operations of a bucket. Only `replace` overwrites, and only the version that was read. Every method throws
 * RunError `StorageDenied` or `StorageUnavailable`.
 */
export type Bucket = ReturnType<typeof createBucket>;

/** @param requests `store` counts every request, except retries of the client */
export function createBucket(client: S3Client, name: string, requests = { store: 0 }) {
  const json = { Bucket: name, ContentType: 'application/json' };

  const get = async (key: string, condition: { Range?: string; IfMatch?: string } = {}) => {
    requests.store += 1;
    try {
      const command = new GetObjectCommand({ Bucket: name, Key: key, ...condition });
      const { Body, ETag: etag = '', ContentLength: bytes = 0, LastModified: at } = await client.send(command);
      return Body && { etag, bytes, at, chunks: unbroken(Body as AsyncIterable<Uint8Array>, key) };
    } catch (error) {
      if (error instanceof Error && ['NoSuchKey', 'InvalidRange'].includes(error.name)) return undefined;
      if (refusedCondition(error)) {
        throw new RunError('StorageConflict', `The object at ${key} has changed.`, { cause: error });
      }
      throw storageError(error, 'read', key);
    }
  };

  const put = async (
    Key: string,
    Body: string,
    condition: { IfNoneMatch: '*' } | { IfMatch: string },
    tag?: string,
  ) => {
    requests.store += 1;
    try {
      await client.send(new PutObjectCommand({ ...json, Key, Body, ...condition, ...taggedWith(tag) }));
      return true;
    } catch (error) {
      // With `If-Match`, S3 answers 404 for a removed object (docs/adr/0006).
      if (refusedCondition(error) || ('IfMatch' in condition && isObjectGone(error))) return false;
      throw storageError(error, 'write', Key);
    }
  };

  return {
    /** Writes an object once; `false` when the key exists. @param tag value of its tag */
    putOnce: (key: string, body: string, tag?: string) => put(key, body, { IfNoneMatch: '*' }, tag),
    /** Overwrites the version that was read, and its tag; `false` if it was replaced or removed since. */
    replace: (key: string, body: string, etag: string, tag?: string) => put(key, body, { IfMatch: etag }, tag),
    /** An object without its bytes; `undefined` if it does not exist. */
    head: async (key: string): Promise<ObjectHead | undefined> => {
      requests.store += 1;
      try {
        const { ETag, ContentLength, Metadata } = await client.send(new HeadObjectCommand({ Bucket: name, Key: key }));
        // Without this check, the answer of a proxy would count as an object without metadata.
        if (!ETag) throw new RunError('StorageUnavailable', `S3 returned no object for ${key}.`);
        return { etag: ETag, bytes: ContentLength ?? 0, metadata: Metadata ?? {} };
      } catch (error) {
        if (isObjectGone(error)) return undefined;
        throw storageError(error, 'read', key);
      }
    },
    /** Sets the tag of an object and removes all other tags. */
    tag: async (Key: string, Value: string): Promise<void> => {
      requests.store += 1;
      const Tagging = { TagSet: [{ Key: PUBLISHED_TAG, Value }] };
      await client.send(new PutObjectTaggingCommand({ Bucket: name, Key, Tagging })).catch((error: unknown) => {
        throw storageError(error, 'write', Key);
      });
    },
    /** A small object, and when it was written; `undefined` if it does not exist. */
    read: async (key: string): Promise<{ text: string; etag: string; at?: Date | undefined } | undefined> => {
      const object = await get(key);
      return object && { text: await text(object.chunks), etag: object.etag, at: object.at };
    },
    /**
     * The bytes of an object or a part of it; `undefined` if it does not exist.
     * @throws RunError `StorageConflict` also if the object has another `etag`
     */
    stream: (key: string, { from = 0, to, etag }: ObjectPart = {}): Promise<ObjectStream | undefined> => {
      const Range = from > 0 || to !== undefined ? `bytes=${from}-${to === undefined ? '' : to - 1}` : undefined;
      return get(key, { ...(Range && { Range }), ...(etag && { IfMatch: etag }) });
    },
    /** Lists objects in the order of keys. */
    list: (prefix: string, most?: number) => list(client, name, prefix, requests, most),
  };
}

/** Writes an object unless it changed since it was read. @param etag as read; `undefined` if there was no object */
export function writeOver(
  bucket: Pick<Bucket, 'putOnce' | 'replace'>,
  key: string,
  body: string,
  etag: string | undefined,
  tag?: string,
): Promise<boolean> {
  return etag === undefined ? bucket.putOnce(key, body, tag) : bucket.replace(key, body, etag, tag);
}

/** A connection that breaks while an object is read becomes an error of the bucket. */
async function* unbroken(body: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw storageError(error, 'read', key);
  }
}

const ONE_PAGE = 1000;

async function list(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  requests: { store: number },
  most = Number.POSITIVE_INFINITY,
): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  let ContinuationToken: string | undefined;
  do {
    requests.store += 1;
    const MaxKeys = Math.min(ONE_PAGE, most - found.length);
    const command = new ListObjectsV2Command({ Bucket, Prefix, MaxKeys, ContinuationToken });
    const page = await client.send(command).catch((error: unknown) => {
      throw storageError(error, 'read', Prefix);
    });
    // Without this check, a page of a proxy would count as an empty listing: nothing published, no line with a result.
    if (page.IsTruncated === undefined)
      throw new RunError('StorageUnavailable', `S3 did not return a listing for ${Prefix}.`);
    for (const { Key: key = '', Size: bytes = 0, LastModified: at } of page.Contents ?? [])
      found.push({ key, bytes, at });
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken && found.length < most);
  return found;
}
