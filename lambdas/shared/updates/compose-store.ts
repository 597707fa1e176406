import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../aws-limits.ts';
import { readEnv } from '../env.ts';
import { type BatchStore, createBatchStore } from '../storage/batch-store.ts';

/** The bucket that the environment of a function names. */
export function batchStoreFromEnv(): BatchStore {
  return createBatchStore(new S3Client(AWS_LIMITS), readEnv(process.env, 'BUCKET_NAME').BUCKET_NAME);
}
