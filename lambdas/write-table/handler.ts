import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readEnv } from '../../core/aws/env.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { createUploadBucket } from '../../core/storage/upload.ts';
import { readHashKey } from './hash-key.ts';
import { type WriteTableDeps, writeTable } from './write-table.ts';

/** Makes the clients of a container from its environment. */
export const connect: Connect<WriteTableDeps> = () => {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  const client = new S3Client(AWS_LIMITS);
  const secrets = new SecretsManagerClient(AWS_LIMITS);
  return (invocation) => {
    const count = () => {
      invocation.requests.store += 1;
    };
    return {
      ...invocation,
      bucket: createUploadBucket(client, BUCKET_NAME, count),
      hashKey: () => readHashKey(secrets, process.env.HASH_KEY_SECRET_ID),
    };
  };
};

/** State WriteTable of the machine ExportRun: writes the table of a published file. */
export const handler = asStep('WriteTable', writeTable, connect);
