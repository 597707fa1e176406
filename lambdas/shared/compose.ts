import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createCrmClient } from './crm/client.ts';
import { readDeployment, readEnv } from './env.ts';
import { createLog } from './log.ts';
import { createGetAccessToken } from './oauth/access-token.ts';
import type { StepName } from './steps.ts';
import { type Bucket, createBucket } from './storage/bucket.ts';

/** The SDK waits for ever by itself: a connection that says nothing for this long is dead. */
const AWS = { requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 } };

/** What every handler composes. The configuration lies beside the bundled code, in the same folder. */
export function stepDependencies(step: StepName) {
  const deployment = readDeployment(new URL('deployment.json', import.meta.url));
  return { deployment, log: createLog(step), now: () => new Date(), random: Math.random };
}

/** The same, and a client of the service that fetches its tokens by itself. */
export function crmDependencies(step: StepName) {
  const common = stepDependencies(step);
  const env = readEnv(process.env, 'CLIENT_SECRET_ID', 'TOKENS_SECRET_ID');
  const getAccessToken = createGetAccessToken({
    secrets: new SecretsManagerClient(AWS),
    clientSecretId: env.CLIENT_SECRET_ID,
    tokensSecretId: env.TOKENS_SECRET_ID,
    crm: common.deployment.crm,
    now: common.now,
  });
  const crm = createCrmClient({
    baseUrl: common.deployment.crm.baseUrl,
    getAccessToken,
    log: common.log,
    now: common.now,
  });
  return { ...common, crm };
}

export function bucketFromEnv(): Bucket {
  return createBucket(new S3Client(AWS), readEnv(process.env, 'BUCKET_NAME').BUCKET_NAME);
}
