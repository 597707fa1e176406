import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../aws-limits.ts';
import { bucketPlace, readEnv } from '../env.ts';
import { defaultProvider } from '../environment-credentials.ts';
import { type BatchStore, createBatchStore } from '../storage/batch-store.ts';
import { createLightRead } from '../storage/light-read.ts';

/** The bucket that the environment of a function names. */
export function batchStoreFromEnv(): BatchStore {
  return createBatchStore(new S3Client(AWS_LIMITS), readEnv(process.env, 'BUCKET_NAME').BUCKET_NAME);
}

/** The same, for a step that reads a small object before every line. */
export function quickBatchStoreFromEnv(): BatchStore {
  const { env } = process;
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL;
  const read = createLightRead({ ...bucketPlace(env), endpoint, credentials: defaultProvider() });
  return { ...batchStoreFromEnv(), read };
}
