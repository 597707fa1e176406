import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { RunError } from '../errors.ts';
import { isGone, refusedCondition, storageError } from './storage-errors.ts';

/** Two parts are sent at the same time. Parts of this size allow objects of 80 GB, because S3 takes 10,000 parts. */
const PART_BYTES = 8 * 1024 * 1024;

interface Uploaded extends Pick<PutObjectCommandInput, 'ContentType' | 'Metadata'> {
  Bucket: string;
  Key: string;
  Body: Readable;
}

/**
 * Stores content of any length that is produced while it is sent. The object appears only when it is whole.
 * @param etag of the object that it replaces; `undefined` if there is none
 * @returns false if another write came in between
 * @throws RunError `StorageDenied`, `StorageUnavailable`, or that of `Body`
 */
export async function uploadOver(
  client: S3Client,
  object: Uploaded,
  etag?: string,
  partSize = PART_BYTES,
): Promise<boolean> {
  const condition = etag === undefined ? { IfNoneMatch: '*' } : { IfMatch: etag };
  const upload = new Upload({
    client: withUploadIds(client, object.Key),
    params: { ...object, ...condition },
    partSize,
    queueSize: 2,
    leavePartsOnError: true,
  });
  try {
    await upload.done();
    return true;
  } catch (error) {
    const { Bucket, Key } = object;
    const aborted = upload.uploadId && new AbortMultipartUploadCommand({ Bucket, Key, UploadId: upload.uploadId });
    // If this fails, the lifecycle rules remove the parts.
    if (aborted) await client.send(aborted).catch(() => undefined);
    // S3 answers for a removed object as for an unknown key (docs/adr/0006).
    if (refusedCondition(error) || (etag !== undefined && isGone(error))) return false;
    throw storageError(error, 'write', Key);
  }
}

/** lib-storage continues without an upload id, and S3 would then store each part as the whole object. */
function withUploadIds(client: S3Client, key: string): S3Client {
  const send = async (...args: Parameters<S3Client['send']>) => {
    const answer: unknown = await client.send(...args);
    const hasId = typeof answer === 'object' && answer !== null && 'UploadId' in answer && answer.UploadId;
    if (args[0] instanceof CreateMultipartUploadCommand && !hasId)
      throw new RunError('StorageUnavailable', `S3 returned no upload id for ${key}.`);
    return answer;
  };
  return Object.create(client, { send: { value: send } });
}
