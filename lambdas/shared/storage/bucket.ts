import { text } from 'node:stream/consumers';
import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
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
  read(key: string, lastByte?: number): Promise<{ text: string; etag: string } | undefined>;
  /** The bytes of an object from an offset on, or `undefined` when there is no such object. */
  stream(key: string, offset: number): Promise<AsyncIterable<Uint8Array> | undefined>;
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

  const get = async (key: string, range?: string) => {
    try {
      return await s3.send(new GetObjectCommand({ Bucket: name, Key: key, ...(range && { Range: range }) }));
    } catch (error) {
      if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
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
    read: async (key, lastByte) => {
      const object = await get(key, lastByte === undefined ? undefined : `bytes=0-${lastByte}`);
      if (!object?.Body) return undefined;
      return { text: await text(unbroken(object.Body as AsyncIterable<Uint8Array>, key)), etag: object.ETag ?? '' };
    },
    stream: async (key, offset) => {
      const object = await get(key, offset > 0 ? `bytes=${offset}-` : undefined);
      return object?.Body && unbroken(object.Body as AsyncIterable<Uint8Array>, key);
    },
  };
}
