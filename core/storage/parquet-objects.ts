import { createReadStream } from 'node:fs';
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
   * Stores a file from the disk.
   * @param metadata of the object; its values are ASCII
   * @param etag of the object that it replaces; `undefined` if there is none
   * @returns whether no other write came in between
   * @throws RunError `StorageDenied` or `StorageUnavailable`
   */
  put(key: string, path: string, metadata: Record<string, string>, etag?: string): Promise<boolean>;
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
  return {
    put: (Key, path, Metadata, etag) => {
      const object = { Bucket, Key, Metadata, ContentType: 'application/vnd.apache.parquet' };
      return uploadOver(client, { ...object, Body: createReadStream(path) }, etag, partBytes);
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
