import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../aws/aws-limits.ts';
import { readEnv } from '../config/env.ts';
import type { Invocation } from '../step/invocation.ts';
import { type Bucket, createBucket } from './bucket.ts';

/** The bucket that the environment of a function names; each invocation counts its own requests. */
export function bucketFromEnv(): (invocation: Invocation) => Bucket {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  const client = new S3Client(AWS_LIMITS);
  return ({ requests }) =>
    createBucket(client, BUCKET_NAME, () => {
      requests.store += 1;
    });
}
