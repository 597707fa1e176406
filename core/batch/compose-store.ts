import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../aws/aws-limits.ts';
import { readEnv } from '../aws/env.ts';
import { fastReadFromEnv } from '../storage/compose.ts';
import { type BatchStore, createBatchStore } from './batch-store.ts';

/** The bucket that the environment of a function names. */
export function batchStoreFromEnv(): BatchStore {
  return createBatchStore(new S3Client(AWS_LIMITS), readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME').BUCKET_NAME);
}

/** The store of batches for a step that reads a small object before every line. */
export function fastBatchStoreFromEnv(): BatchStore {
  return { ...batchStoreFromEnv(), read: fastReadFromEnv() };
}
