import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readEnv } from '../../core/aws/env.ts';
import { readSecret } from '../../core/oauth/secrets.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { createUploadBucket } from '../../core/storage/upload.ts';
import { TableError } from '../../core/table/table-error.ts';
import { type WriteTableDeps, writeTable } from './write-table.ts';

export const connect: Connect<WriteTableDeps> = () => {
  const { BUCKET_NAME } = readEnv(process.env, 'DEPLOYMENT', 'BUCKET_NAME');
  const client = new S3Client(AWS_LIMITS);
  const secrets = new SecretsManagerClient(AWS_LIMITS);
  return (invocation) => ({
    ...invocation,
    bucket: createUploadBucket(client, BUCKET_NAME, invocation.requests),
    hashKey: () => readHashKey(secrets, process.env.HASH_KEY_SECRET_ID),
  });
};

/** State WriteTable of the machine ExportRun: writes the table of a published file. */
export const handler = asStep('WriteTable', writeTable, connect);

/** The shortest key that a person may set; the stack generates 64 characters. */
const SHORTEST = 32;

/**
 * The key of the hashed columns.
 * @throws TableError if there is no usable key; RunError `ConfigInvalid`, `TokenStoreUnavailable`
 */
export async function readHashKey(client: SecretsManagerClient, secretId: string | undefined): Promise<string> {
  if (secretId === undefined) throw new TableError('The stack has no secret for the hashed columns: deploy it again.');
  const key = (await readSecret(client, secretId))?.text ?? '';
  if (key.length >= SHORTEST) return key;
  const what = key === '' ? 'is missing or has no value' : `is shorter than ${SHORTEST} characters`;
  throw new TableError(`The key of the hashed columns ${what}: the secret ${secretId}.`);
}
