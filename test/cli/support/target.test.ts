import type { IncomingMessage } from 'node:http';
import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { GetExecutionHistoryCommand } from '@aws-sdk/client-sfn';
import { afterEach, expect, test, vi } from 'vitest';
import { connect } from '../../../cli/support/target.ts';
import { type Reply, serve } from './aws-server.ts';

const outputs = {
  ...{ StateMachineArn: 'arn:aws:states:eu-west-1:1:stateMachine:x', BucketName: 'bucket' },
  ...{ ClientSecretId: 'arn:client', TokensSecretId: 'arn:tokens', LedgerTableName: 'ledger' },
};
const member = ([key, value]: [string, string]) =>
  `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`;
const stack = (status: string, of: Record<string, string>): Reply => ({
  status: 200,
  type: 'text/xml',
  body: `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks>
    <member><StackName>s</StackName><StackStatus>${status}</StackStatus><CreationTime>2026-11-20T00:00:00Z</CreationTime>
    <Outputs>${Object.entries(of).map(member).join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
});
const refusal = (status: number, code: string, message: string): Reply => ({
  ...{ status, type: 'text/xml' },
  body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
});

/** A CloudFormation that always answers this; `seen` are the requests. */
async function cloud(reply: Reply) {
  const seen: IncomingMessage[] = [];
  const endpointUrl = await serve((request) => {
    seen.push(request);
    return reply;
  });
  return { endpointUrl, seen };
}

const endOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

afterEach(() => {
  vi.unstubAllEnvs();
});

test('a deployment is found by the outputs of its stack', async () => {
  const { endpointUrl } = await cloud(stack('UPDATE_COMPLETE', { ...outputs, Another: 'x' }));
  expect(await connect({ deployment: 'local', endpointUrl })).toMatchObject(outputs);
  vi.stubEnv('AWS_ENDPOINT_URL', endpointUrl);
  expect(await connect({ deployment: 'local' })).toMatchObject(outputs);
});

test('without a stack, or with half of one, it says what to do', async () => {
  const none = await cloud(refusal(400, 'ValidationError', 'Stack with id crm-export-prod does not exist'));
  expect(await endOf(connect({ deployment: 'prod', ...none }))).toMatchObject({
    exitCode: 3,
    message:
      'There is no stack crm-export-prod here: check --deployment, --profile and --region (this is us-east-1), or deploy it first.',
  });
  const half = await cloud(stack('ROLLBACK_COMPLETE', { BucketName: 'bucket' }));
  expect(await endOf(connect({ deployment: 'prod', ...half }))).toMatchObject({
    exitCode: 3,
    message: 'The stack crm-export-prod is only half deployed (ROLLBACK_COMPLETE): deploy it again.',
  });
});

test('credentials that are refused or missing are named as such', async () => {
  const { endpointUrl } = await cloud(refusal(403, 'ExpiredToken', 'The security token is expired'));
  expect(await endOf(connect({ deployment: 'prod', endpointUrl }))).toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(/^The AWS credentials have expired \(ExpiredToken\): /),
  });
  vi.stubEnv('AWS_ENDPOINT_URL', undefined);
  vi.stubEnv('AWS_CONFIG_FILE', '/nonexistent');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent');
  expect(await endOf(connect({ deployment: 'prod', profile: 'nobody', region: 'eu-west-1' }))).toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(/^There are no AWS credentials: .*--profile/),
  });
});

test('an answer that is not from CloudFormation is quoted by its first line only', async () => {
  const { endpointUrl } = await cloud(refusal(400, 'Odd', 'first\nsecond'));
  const error = await endOf(connect({ deployment: 'prod', endpointUrl }));
  expect(error).toMatchObject({
    exitCode: 3,
    message: 'AWS could not describe the stack crm-export-prod (Odd: first).',
  });
});

test('an endpoint that is no address is a matter of usage', async () => {
  expect(await endOf(connect({ deployment: 'prod', endpointUrl: 'here' }))).toMatchObject({ exitCode: 2 });
});

test('real credentials are never sent to a local cloud, by no client', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAIOSFODNN7EXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-real-one');
  vi.stubEnv('AWS_SESSION_TOKEN', 'a-real-session');
  vi.stubEnv('AWS_PROFILE', 'real');
  const { endpointUrl, seen } = await cloud(stack('UPDATE_COMPLETE', outputs));
  for (const host of ['127.0.0.1', 'localhost']) {
    const target = await connect({ deployment: 'local', endpointUrl: endpointUrl.replace('127.0.0.1', host) });
    await endOf(target.s3.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'key' })));
    await endOf(target.secrets.send(new GetSecretValueCommand({ SecretId: 'x' })));
    await endOf(target.dynamo.send(new GetItemCommand({ TableName: 'ledger', Key: { pk: { S: 'x' } } })));
    await endOf(target.sfn.send(new GetExecutionHistoryCommand({ executionArn: 'x' })));
  }
  expect(seen.map(({ method, url }) => `${method} ${url?.split('?')[0]}`)).toContain('GET /bucket/key');
  expect(seen.length).toBeGreaterThanOrEqual(10);
  for (const { headers } of seen) {
    expect(headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=000000000000\/\d{8}\/us-east-1\//);
    expect(headers['x-amz-security-token']).toBeUndefined();
  }
});

test('what is done under a claim gives up a silent connection long before the claim ends', async () => {
  const asked: string[] = [];
  const endpointUrl = await serve((request) => {
    const operation = request.headers['x-amz-target'];
    if (typeof operation !== 'string') return stack('UPDATE_COMPLETE', outputs);
    asked.push(operation);
    const first = asked.filter((one) => one === operation).length === 1;
    const refused = { status: 400, type: 'application/x-amz-json-1.1', body: '{"__type":"ResourceNotFoundException"}' };
    return first ? new Promise<Reply>(() => undefined) : refused;
  });
  const { secrets, dynamo } = await connect({ deployment: 'local', endpointUrl });
  const start = performance.now();

  const ends = await Promise.all([
    endOf(secrets.send(new GetSecretValueCommand({ SecretId: 'x' }))),
    endOf(dynamo.send(new GetItemCommand({ TableName: 'ledger', Key: { pk: { S: 'x' } } }))),
  ]);

  for (const end of ends) expect(end).toMatchObject({ name: 'ResourceNotFoundException' });
  expect(asked).toHaveLength(4);
  expect(performance.now() - start).toBeLessThan(8_000);
});
