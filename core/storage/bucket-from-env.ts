import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../aws/aws-limits.ts';
import { readEnv } from '../config/env.ts';
import { type Bucket, createBucket } from './bucket.ts';

/**
 * The bucket that the environment of a function names.
 * @param requests counts every request that is sent
 */
export function bucketFromEnv({ requests }: { requests: { store: number } }): Bucket {
  const { BUCKET_NAME } = readEnv(process.env, 'BUCKET_NAME');
  return createBucket(new S3Client(AWS_LIMITS), BUCKET_NAME, () => {
    requests.store += 1;
  });
}
