import { text } from 'node:stream/consumers';
import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { RunError } from '../errors.ts';
import { refusedCondition, storageError } from './storage-errors.ts';

/**
 * The bucket, in the few ways that a run uses it. Nothing is ever overwritten but by `replace`, and that only what was read.
 * Every method throws RunError `StorageDenied` or `StorageUnavailable`.
 */
export interface Bucket {
  /** Writes an object once; `false` when the key exists. */
  putOnce(key: string, body: string): Promise<boolean>;
  /** Writes over exactly the version that was read; `false` when another has come in between. */
  replace(key: string, body: string, etag: string): Promise<boolean>;
  /** A small object's text, or `undefined` when there is none. */
  read(key: string): Promise<{ text: string; etag: string } | undefined>;
  /**
   * The bytes of an object, or of a part of it; `undefined` when there is no such object, or nothing of such a part.
   * @throws RunError `StorageConflict` also when it is another object than `etag` says
   */
  stream(key: string, part?: ObjectPart): Promise<ObjectStream | undefined>;
}

/** A part of an object: from a byte on, up to another, not included. */
export interface ObjectPart {
  from?: number;
  to?: number;
  /** What the object must still be. */
  etag?: string | undefined;
}

interface ObjectStream {
  etag: string;
  chunks: AsyncIterable<Uint8Array>;
}

/** A connection that breaks in the middle of an object is the bucket's trouble, not a bug of the reader. */
async function* unbroken(body: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw storageError(error, 'read', key);
  }
}

/** @param count told of every request, those that the client repeats by itself aside. */
export function createBucket(client: S3Client, name: string, count: () => void = () => undefined): Bucket {
  const s3: Pick<S3Client, 'send'> = {
    send: (...call: Parameters<S3Client['send']>) => {
      count();
      return client.send(...call);
    },
  } as S3Client;

  const json = { Bucket: name, ContentType: 'application/json' };

  const get = async (key: string, condition: { Range?: string; IfMatch?: string } = {}) => {
    try {
      return await s3.send(new GetObjectCommand({ Bucket: name, Key: key, ...condition }));
    } catch (error) {
      if (error instanceof Error && ['NoSuchKey', 'InvalidRange'].includes(error.name)) return undefined;
      if (refusedCondition(error)) {
        throw new RunError('StorageConflict', `The object at ${key} is another than before.`, { cause: error });
      }
      throw storageError(error, 'read', key);
    }
  };

  const put = async (key: string, write: () => Promise<unknown>): Promise<boolean> => {
    try {
      await write();
      return true;
    } catch (error) {
      if (refusedCondition(error)) return false;
      throw storageError(error, 'write', key);
    }
  };

  return {
    putOnce: (key, body) =>
      put(key, () => s3.send(new PutObjectCommand({ ...json, Key: key, Body: body, IfNoneMatch: '*' }))),
    replace: (key, body, etag) =>
      put(key, () => s3.send(new PutObjectCommand({ ...json, Key: key, Body: body, IfMatch: etag }))),
    read: async (key) => {
      const object = await get(key);
      if (!object?.Body) return undefined;
      return { text: await text(unbroken(object.Body as AsyncIterable<Uint8Array>, key)), etag: object.ETag ?? '' };
    },
    stream: async (key, { from = 0, to, etag } = {}) => {
      const Range = from > 0 || to !== undefined ? `bytes=${from}-${to === undefined ? '' : to - 1}` : undefined;
      const object = await get(key, { ...(Range && { Range }), ...(etag && { IfMatch: etag }) });
      if (!object?.Body) return undefined;
      return { etag: object.ETag ?? '', chunks: unbroken(object.Body as AsyncIterable<Uint8Array>, key) };
    },
  };
}
