import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readEnv } from '../../core/config/env.ts';
import { asStep } from '../../core/step/export-run.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { publishFile } from './publish-file.ts';

/** State PublishFile of the machine ExportRun: leaves the manifest and two pointers, in that order. */
export const handler = asStep('PublishFile', publishFile, () => {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  const client = new S3Client(AWS_LIMITS);
  return (invocation) => {
    const count = () => {
      invocation.requests.store += 1;
    };
    return { ...invocation, bucket: createBucket(client, BUCKET_NAME, count) };
  };
});
