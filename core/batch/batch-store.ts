import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { type Bucket, createBucket } from '../storage/bucket.ts';
import { refusedCondition, storageError } from '../storage/storage-errors.ts';

/** Parts of this size keep the memory flat; two are on their way at once. */
const PART_BYTES = 8 * 1024 * 1024;

const JSON_LINES = 'application/x-ndjson';

/** The bucket of a batch: it also takes what is made while it is stored. */
export interface BatchStore extends Bucket {
  /** Streams an object into place once; `false` when the key exists. What `body` throws passes through. */
  uploadOnce(key: string, body: Readable): Promise<boolean>;
}

export function createBatchStore(client: S3Client, name: string): BatchStore {
  return {
    ...createBucket(client, name),
    uploadOnce: async (key, body) => {
      const params = { Bucket: name, Key: key, Body: body, IfNoneMatch: '*', ContentType: JSON_LINES };
      try {
        await new Upload({ client, params, partSize: PART_BYTES, queueSize: 2 }).done();
        return true;
      } catch (error) {
        if (refusedCondition(error)) return false;
        throw storageError(error, 'write', key);
      }
    },
  };
}
