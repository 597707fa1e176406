import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS, QUICK_READ_LIMITS } from '../aws/aws-limits.ts';
import { readEnv } from '../aws/env.ts';
import { RunError } from '../errors.ts';
import { type Bucket, createBucket } from '../storage/bucket.ts';
import { createUploadBucket, type UploadBucket } from '../storage/upload.ts';
import { linesOf } from '../updates/lines.ts';
import { FOUND_VALID, isProblem, JSONL, type UpdateEntry, type UpdateRecord } from '../updates/read-updates.ts';
import type { Batch, Chunk } from './batch-state.ts';

const INPUT_KEY = /^updates\/([A-Za-z0-9-]{1,60})\/input\.jsonl$/;

/** The batch whose input has this key; `undefined` for another key. */
export function batchOfInput(key: string): string | undefined {
  return INPUT_KEY.exec(key)?.[1];
}

/** Suffix of the key of a claim. */
export const CLAIM = '.begun.json';

/** The keys of all objects of a batch. */
export function keysOf(batch: string) {
  const folder = `updates/${batch}/`;
  const chunkOf = (chunk: number) => `${folder}results/chunk-${String(chunk).padStart(4, '0')}.`;
  const partOf = (chunk: number, part: number) => `${chunkOf(chunk)}${String(part).padStart(6, '0')}`;
  return {
    input: `${folder}input.jsonl`,
    /** The claim of the execution that applies the batch. */
    started: `${folder}_started.json`,
    chunks: `${folder}chunks.jsonl`,
    /** No line is sent while this object exists. */
    stop: `${folder}stop.json`,
    /** One empty object for each failed line, if failures are counted. */
    failures: `${folder}failures/`,
    results: `${folder}results/`,
    /** Prefix of the results of a chunk. */
    chunkOf,
    /**
     * The keys of the claim of a part, which is written before its lines are sent, and of the part, which is written
     * afterwards.
     */
    claim: (chunk: number, part: number) => `${partOf(chunk, part)}${CLAIM}`,
    part: (chunk: number, part: number) => `${partOf(chunk, part)}.jsonl`,
    result: `${folder}result.jsonl`,
    manifest: `${folder}_manifest.json`,
  };
}

export type BatchKeys = ReturnType<typeof keysOf>;

/** The largest input that one invocation validates, even with the shortest lines (docs/adr/0016). */
export const LARGEST_INPUT_BYTES = 256 * 1024 * 1024;

/** The records of a chunk, in order. @throws RunError `StorageConflict` if the input was changed after validation */
export async function readRecords(
  store: Bucket,
  { inputKey, etag }: Pick<Batch, 'inputKey' | 'etag'>,
  { from, to, firstLine: line }: Pick<Chunk, 'from' | 'to' | 'firstLine'>,
): Promise<UpdateRecord[]> {
  const part = await store.stream(inputKey, { from, to, etag });
  const entries: UpdateEntry[] = [];
  const pieces = part ? JSONL(linesOf(part.chunks, { from, line }), FOUND_VALID) : [];
  for await (const found of pieces) entries.push(...found);
  if (part && !entries.some(isProblem)) return entries as UpdateRecord[];
  throw new RunError('StorageConflict', `The object at ${inputKey} is no longer the one that was validated.`);
}

/** The bucket that the environment of a function names. */
export function batchStoreFromEnv(): UploadBucket {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  return createUploadBucket(new S3Client(AWS_LIMITS), BUCKET_NAME);
}

/** The store of batches for a step that reads a small object before every line. */
export function quickBatchStoreFromEnv(): UploadBucket {
  const { BUCKET_NAME } = readEnv(process.env, 'BUCKET_NAME');
  return { ...batchStoreFromEnv(), read: createBucket(new S3Client(QUICK_READ_LIMITS), BUCKET_NAME).read };
}
