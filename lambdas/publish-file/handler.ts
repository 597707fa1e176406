import { S3Client } from '@aws-sdk/client-s3';
import { readEnv } from '../../core/aws/env.ts';
import { streamingLimits } from '../../core/aws/reading-agent.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { type PublishFileDeps, publishFile } from './publish-file.ts';

export const connect: Connect<PublishFileDeps> = () => {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  const client = new S3Client(streamingLimits());
  return (invocation) => ({ ...invocation, bucket: createBucket(client, BUCKET_NAME, invocation.requests) });
};

/** State PublishFile of the machine ExportRun: writes the manifest, then moves two pointers. */
export const handler = asStep('PublishFile', publishFile, connect);
