import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { PassThrough, type Readable } from 'node:stream';
import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { RunError } from '../errors.ts';
import { isGone, storageError } from './storage-errors.ts';
import { uploadOver } from './upload.ts';

/** A Parquet file of the bucket, without its bytes. */
export interface ParquetObject {
  etag: string;
  bytes: number;
  metadata: Record<string, string>;
}

/** The Parquet files of a bucket: tables, feeds, and copies of tables. */
export interface ParquetObjects {
  /** `undefined` if the object does not exist. @throws RunError `StorageDenied` or `StorageUnavailable` */
  head(key: string): Promise<ParquetObject | undefined>;
  /**
   * Starts to write a file.
   * @param metadata of the object; its values are ASCII
   * @param etag of the object that it replaces; `undefined` if there is none
   */
  begin(key: string, metadata: Record<string, string>, etag: string | undefined): ParquetUpload;
  /** Stores a file from the disk. @returns whether no other write came in between */
  put(key: string, path: string, metadata: Record<string, string>, etag?: string): Promise<boolean>;
}

/** A file that is being written. Every method throws RunError `StorageDenied` or `StorageUnavailable`. */
interface ParquetUpload {
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the object. @returns whether no other write came in between */
  complete(): Promise<boolean>;
  /** Ends an upload that is not complete. */
  abort(): Promise<void>;
}

/**
 * @param count called for every request, except retries of the client
 * @param partBytes size of the parts; tests use smaller ones
 */
export function parquetObjects(
  s3: S3Client,
  Bucket: string,
  count: () => void = () => undefined,
  partBytes?: number,
): ParquetObjects {
  const client = counted(s3, count);
  const store = (Key: string, Body: Readable, Metadata: Record<string, string>, etag: string | undefined) =>
    uploadOver(client, { Bucket, Key, Body, Metadata, ContentType: 'application/vnd.apache.parquet' }, etag, partBytes);
  return {
    put: (key, path, metadata, etag) => store(key, createReadStream(path), metadata, etag),
    begin: (key, metadata, etag) => {
      const body = new PassThrough();
      const stored = store(key, body, metadata, etag);
      // `write` and `complete` report a failure. Until then, no code waits for the promise.
      stored.catch(() => undefined);
      return {
        write: async (chunk) => {
          // A copy, because the caller may reuse the memory.
          if (!body.write(Buffer.from(chunk))) await Promise.race([once(body, 'drain'), stored]);
        },
        complete: () => {
          body.end();
          return stored;
        },
        abort: async () => {
          body.destroy();
          await stored.catch(() => undefined);
        },
      };
    },
    head: async (key) => {
      try {
        const { ETag, ContentLength, Metadata } = await client.send(new HeadObjectCommand({ Bucket, Key: key }));
        // The answer of a proxy would count as an object without metadata.
        if (!ETag) throw new RunError('StorageUnavailable', `The answer for ${key} names no object.`);
        return { etag: ETag, bytes: ContentLength ?? 0, metadata: Metadata ?? {} };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw storageError(error, 'read', key);
      }
    },
  };
}

function counted(client: S3Client, count: () => void): S3Client {
  const send = (...args: Parameters<S3Client['send']>) => {
    count();
    return client.send(...args);
  };
  return Object.create(client, { send: { value: send } });
}
