import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { refusedCondition, storageError } from './storage-errors.ts';

/** Parts of this size keep the memory flat; two are on their way at once. */
const PART_BYTES = 8 * 1024 * 1024;

/** Streams an object into place once; `false` when the key exists. What `body` throws passes through. */
export type UploadOnce = (key: string, body: Readable, contentType: string) => Promise<boolean>;

/**
 * For what is made while it is stored, of no known size. Files of the service go through the transfer engine instead.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export function createUploadOnce(client: S3Client, name: string): UploadOnce {
  return async (key, body, contentType) => {
    const params = { Bucket: name, Key: key, Body: body, IfNoneMatch: '*', ContentType: contentType };
    try {
      await new Upload({ client, params, partSize: PART_BYTES, queueSize: 2 }).done();
      return true;
    } catch (error) {
      if (refusedCondition(error)) return false;
      throw storageError(error, 'write', key);
    }
  };
}
