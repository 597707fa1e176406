import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readEnv } from '../../core/aws/env.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { createUploadBucket } from '../../core/storage/upload.ts';
import { type WriteChangesDeps, writeChanges } from './write-changes.ts';

export const connect: Connect<WriteChangesDeps> = () => {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  const client = new S3Client(AWS_LIMITS);
  return (invocation) => ({ ...invocation, bucket: createUploadBucket(client, BUCKET_NAME, invocation.requests) });
};

/** State WriteChanges of the machine ExportRun: writes the changes since the last feed. */
export const handler = asStep('WriteChanges', writeChanges, connect);
