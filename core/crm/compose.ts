import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { AWS_LIMITS } from '../aws/aws-limits.ts';
import { readDeployment, readEnv } from '../config/env.ts';
import { createLog } from '../log/log.ts';
import { createGetAccessToken } from '../oauth/access-token.ts';
import { accessTokenDeps } from '../oauth/compose.ts';
import type { Invocation } from '../step/step.ts';
import type { AnyStepName } from '../step/steps.ts';
import { type Bucket, createBucket } from '../storage/bucket.ts';
import { createCrmClient } from './client.ts';

/** What every handler composes. The configuration lies beside the bundled code, in the same folder. */
export function stepDependencies(step: AnyStepName) {
  const deployment = readDeployment(new URL('deployment.json', import.meta.url));
  const { DEPLOYMENT } = readEnv(process.env, 'DEPLOYMENT');
  return { deployment, log: createLog(step, DEPLOYMENT), now: () => new Date(), random: Math.random };
}

/** The same, and a client of the service that fetches its tokens by itself. */
export function crmDependencies(step: AnyStepName, invocation: Invocation) {
  const common = stepDependencies(step);
  const { deployment, log, now, random } = common;
  const env = readEnv(process.env, 'DEPLOYMENT', 'CLIENT_SECRET_ID', 'TOKENS_SECRET_ID', 'LEDGER_TABLE');
  const places = {
    clientSecretId: env.CLIENT_SECRET_ID,
    tokensSecretId: env.TOKENS_SECRET_ID,
    ledgerTable: env.LEDGER_TABLE,
  };
  const getAccessToken = createGetAccessToken(
    accessTokenDeps(places, {
      crm: deployment.crm,
      now,
      random,
      sleep,
      secondsLeft: () => invocation.secondsLeft(),
      count: (event) => log.measure({ [event]: 1 }),
      onOddities: (oddities) => log.info('the token endpoint answered oddly', { oddities }),
      authorizeCommand: `npm run cli -- authorize --deployment ${env.DEPLOYMENT}`,
    }),
  );
  const count = () => {
    invocation.requests.crm += 1;
  };
  return { ...common, crm: createCrmClient({ baseUrl: deployment.crm.baseUrl, getAccessToken, log, now, count }) };
}

export function bucketFromEnv({ requests }: Invocation): Bucket {
  const { BUCKET_NAME } = readEnv(process.env, 'BUCKET_NAME');
  return createBucket(new S3Client(AWS_LIMITS), BUCKET_NAME, () => {
    requests.store += 1;
  });
}
