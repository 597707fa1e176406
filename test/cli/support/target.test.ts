import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { GetExecutionHistoryCommand } from '@aws-sdk/client-sfn';
import { expect, test, vi } from 'vitest';
import { clientSettings, connect } from '../../../cli/support/target.ts';
import { LEASE_MS } from '../../../core/oauth/ledger.ts';
import { type Answers, fault, type Handler, refused, silent } from './cloud/answers.ts';
import type { Call } from './cloud/call.ts';
import { aws, awsWithTarget } from './cloud/cloud.ts';
import { OUTPUTS, stack } from './cloud/stack.ts';

async function cloud(part: Answers) {
  const { endpoint } = await aws(part);
  return { endpointUrl: endpoint };
}

const endOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

test('connect finds a deployment by the outputs of its stack', async () => {
  const { endpointUrl } = await cloud(stack({ Another: 'x' }));
  expect(await connect({ deployment: 'local', endpointUrl })).toMatchObject(OUTPUTS);
  vi.stubEnv('AWS_ENDPOINT_URL', endpointUrl);
  expect(await connect({ deployment: 'local' })).toMatchObject(OUTPUTS);
});

test('--profile with another endpoint is used, with its region', () => {
  vi.stubEnv('AWS_REGION', undefined);
  const endpointUrl = 'https://vpce.example.com';

  expect(clientSettings({ endpointUrl, profile: 'sso' })).toMatchObject({ endpoint: endpointUrl, profile: 'sso' });
  expect(clientSettings({ endpointUrl, profile: 'sso' })).not.toHaveProperty('region');
  expect(clientSettings({ endpointUrl, profile: 'sso', region: 'eu-west-1' })).toMatchObject({ region: 'eu-west-1' });
  expect(clientSettings({ endpointUrl })).toMatchObject({ region: 'us-east-1' });
});

test('no client sends real credentials to a local cloud', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAIOSFODNN7EXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-real-one');
  vi.stubEnv('AWS_SESSION_TOKEN', 'a-real-session');
  vi.stubEnv('AWS_PROFILE', 'real');
  const asked: Call[] = [];
  const noted: Handler = (call) => void asked.push(call);
  const { endpoint: endpointUrl } = await aws({ cloudformation: noted, '*': noted });
  for (const host of ['127.0.0.1', 'localhost']) {
    const target = await connect({ deployment: 'local', endpointUrl: endpointUrl.replace('127.0.0.1', host) });
    await endOf(target.s3.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'key' })));
    await endOf(target.secrets.send(new GetSecretValueCommand({ SecretId: 'x' })));
    await endOf(target.dynamo.send(new GetItemCommand({ TableName: 'ledger', Key: { pk: { S: 'x' } } })));
    await endOf(target.sfn.send(new GetExecutionHistoryCommand({ executionArn: 'x' })));
  }
  expect(asked.map(({ operation, key }) => `${operation} ${key}`)).toContain('GetObject key');
  expect(asked.length).toBeGreaterThanOrEqual(10);
  for (const { headers } of asked) {
    expect(headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=000000000000\/\d{8}\/us-east-1\//);
    expect(headers['x-amz-security-token']).toBeUndefined();
  }
});

test('clients of the secret and the ledger give up a silent connection before a claim ends', async () => {
  const once = { times: 1 };
  const silentOnce = [fault('GetSecretValue', silent, once), fault('GetItem', silent, once)];
  const { target, asked } = await awsWithTarget(...silentOnce, { '*': refused('ResourceNotFoundException') });
  const { secrets, dynamo } = target;
  const start = performance.now();

  const ends = await Promise.all([
    endOf(secrets.send(new GetSecretValueCommand({ SecretId: 'x' }))),
    endOf(dynamo.send(new GetItemCommand({ TableName: 'ledger', Key: { pk: { S: 'x' } } }))),
  ]);

  for (const end of ends) expect(end).toMatchObject({ name: 'ResourceNotFoundException' });
  expect(asked).toHaveLength(4);
  expect(performance.now() - start).toBeLessThan(LEASE_MS);
});
