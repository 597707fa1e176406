import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { LEASE_LIMITS, QUICK_READ_LIMITS } from '../../core/aws/aws-limits.ts';
import { readEnv } from '../../core/aws/env.ts';
import { crmFromEnv } from '../../core/crm/crm-from-env.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { type CreateExportDeps, createExport } from './create-export.ts';

export const connect: Connect<CreateExportDeps> = () => {
  const crm = crmFromEnv();
  const {
    SOFTWARE_VERSION: softwareVersion,
    LEDGER_TABLE: name,
    BUCKET_NAME,
  } = readEnv(process.env, 'SOFTWARE_VERSION', 'LEDGER_TABLE', 'BUCKET_NAME');
  const s3 = new S3Client(QUICK_READ_LIMITS);
  const table = { client: new DynamoDBClient({ ...LEASE_LIMITS, maxAttempts: 2 }), name };
  return (invocation) => {
    const { read } = createBucket(s3, BUCKET_NAME, invocation.requests);
    return { ...invocation, crm: crm(invocation), table, read, softwareVersion };
  };
};

/** State CreateExport of the machine ExportRun: checks the input and creates an export in the CRM. */
export const handler = asStep('CreateExport', createExport, connect);
