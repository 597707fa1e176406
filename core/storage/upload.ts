import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { RunError } from '../errors.ts';
import { ownValue } from '../json.ts';
import { type Bucket, createBucket, taggedWith } from './bucket.ts';
import { isObjectGone, refusedCondition, storageError } from './storage-errors.ts';

/** Two parts are sent at the same time. Parts of this size allow objects of 80 GB, because S3 takes 10,000 parts. */
const PART_BYTES = 8 * 1024 * 1024;

/** A bucket that also stores content of any length. An object appears only when it is whole. */
export interface UploadBucket extends Bucket {
  /** Writes JSON Lines once while they are produced; `false` if the key exists. A RunError of `body` passes through. */
  uploadOnce(key: string, body: Readable): Promise<boolean>;
  /**
   * Stores a Parquet file from the disk.
   * @param etag of the object that it replaces; `undefined` if there is none
   * @returns whether no other write came in between
   */
  putParquet(key: string, path: string, about: AboutObject, etag?: string): Promise<boolean>;
}

/** The metadata of an object, whose values are ASCII, and the value of its tag for readers in other accounts. */
interface AboutObject {
  metadata: Record<string, string>;
  tag?: string;
}

/**
 * @param requests `store` counts every request, except retries of the client
 * @param partBytes size of the parts; tests use smaller ones
 */
export function createUploadBucket(
  s3: S3Client,
  name: string,
  requests = { store: 0 },
  partBytes = PART_BYTES,
): UploadBucket {
  const upload = async (Key: string, object: Omit<PutObjectCommandInput, 'Bucket' | 'Key'>, etag?: string) => {
    const client = watched(s3, Key, requests);
    const condition = etag === undefined ? { IfNoneMatch: '*' } : { IfMatch: etag };
    const params = { Bucket: name, Key, ...object, ...condition };
    const sending = new Upload({ client, params, partSize: partBytes, queueSize: 2, leavePartsOnError: true });
    try {
      await sending.done();
      return true;
    } catch (error) {
      const of = { Bucket: name, Key, UploadId: sending.uploadId };
      // If the abort fails, the lifecycle rules remove the parts.
      if (sending.uploadId) await client.send(new AbortMultipartUploadCommand(of)).catch(() => undefined);
      // S3 answers for a removed object as for an unknown key (docs/adr/0006).
      if (refusedCondition(error) || (etag !== undefined && isObjectGone(error))) return false;
      throw storageError(error, 'write', Key);
    }
  };
  return {
    ...createBucket(s3, name, requests),
    uploadOnce: (key, Body) => upload(key, { Body, ContentType: 'application/x-ndjson' }),
    putParquet: (key, path, { metadata, tag }, etag) => {
      const ContentType = 'application/vnd.apache.parquet';
      const object = { Body: createReadStream(path), Metadata: metadata, ContentType, ...taggedWith(tag) };
      return upload(key, object, etag);
    },
  };
}

/** lib-storage continues without an upload id, and S3 would then store each part as the whole object. */
function watched(client: S3Client, key: string, requests: { store: number }): S3Client {
  const send = async (...args: Parameters<S3Client['send']>) => {
    requests.store += 1;
    const answer: unknown = await client.send(...args);
    if (args[0] instanceof CreateMultipartUploadCommand && !ownValue(answer, 'UploadId'))
      throw new RunError('StorageUnavailable', `S3 returned no upload id for ${key}.`);
    return answer;
  };
  return Object.create(client, { send: { value: send } });
}
