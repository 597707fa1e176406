import type { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { AWS_LIMITS } from '../aws/aws-limits.ts';
import { readEnv } from '../aws/env.ts';
import { type Bucket, createBucket } from '../storage/bucket.ts';
import { fastReadFromEnv } from '../storage/fast-read.ts';
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

const INPUT_KEY = /^updates\/([A-Za-z0-9-]{1,60})\/input\.jsonl$/;

/** The batch of which this is the key of the input; `undefined` where it is none. */
export function batchOfInput(key: string): string | undefined {
  return INPUT_KEY.exec(key)?.[1];
}

/** What the key of a claim ends in. */
export const CLAIM = '.begun.json';

/** Keys of everything of a batch in the bucket. */
export function keysOf(batch: string) {
  const folder = `updates/${batch}/`;
  const chunkOf = (chunk: number) => `${folder}results/chunk-${String(chunk).padStart(4, '0')}.`;
  return {
    input: `${folder}input.jsonl`,
    /** The claim of the one execution that applies the batch. */
    started: `${folder}_started.json`,
    chunks: `${folder}chunks.jsonl`,
    /** No line is sent while this object exists. */
    stop: `${folder}stop.json`,
    /** An empty object for each line that failed, where failures are counted. */
    failures: `${folder}failures/`,
    results: `${folder}results/`,
    /** Prefix of the results of a chunk. */
    chunkOf,
    /** The claim of a part, which is written before its lines are sent, and after. */
    claim: (chunk: number, part: number) => `${chunkOf(chunk)}${numbered(part)}${CLAIM}`,
    part: (chunk: number, part: number) => `${chunkOf(chunk)}${numbered(part)}.jsonl`,
    result: `${folder}result.jsonl`,
    manifest: `${folder}_manifest.json`,
  };
}

export type BatchKeys = ReturnType<typeof keysOf>;

function numbered(part: number): string {
  return String(part).padStart(6, '0');
}

/** One invocation validates so much with time and memory to spare, even with the shortest lines (docs/adr/0016). */
export const LARGEST_INPUT_BYTES = 256 * 1024 * 1024;

/** The bucket that the environment of a function names. */
export function batchStoreFromEnv(): BatchStore {
  return createBatchStore(new S3Client(AWS_LIMITS), readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME').BUCKET_NAME);
}

/** The store of batches for a step that reads a small object before every line. */
export function fastBatchStoreFromEnv(): BatchStore {
  return { ...batchStoreFromEnv(), read: fastReadFromEnv() };
}
