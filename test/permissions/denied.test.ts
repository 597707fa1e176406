import { beforeAll, describe, expect, test } from 'vitest';
import { ALL_STEPS } from '../../core/step/steps.ts';
import { ACCOUNT, REGION } from './support/arns.ts';
import type { Request } from './support/calls.ts';
import { decide, type ServiceRequest } from './support/decide.ts';
import { roleOfStep, wholeStack } from './support/policies.ts';

const { names, policies } = wholeStack();
const bucket = names.arn(names.id('AWS::S3::Bucket', 'ExportsBucket'));
const logs = names.arn(names.id('AWS::S3::Bucket', 'ExportsAccessLogs'));
const clientSecret = names.arn(names.id('AWS::SecretsManager::Secret', 'TokensOAuthClient'));
const tokens = names.arn(names.id('AWS::SecretsManager::Secret', 'TokensOAuthTokens'));
const ledger = names.arn(names.id('AWS::DynamoDB::GlobalTable'));
const key = names.arn(names.id('AWS::KMS::Key'));
const via = (service: string) => ({ 'kms:viaservice': `${service}.${REGION}.amazonaws.com` });
const ofSecret = (arn: string) => ({ ...via('secretsmanager'), 'kms:encryptioncontext:secretarn': arn });
const secure = { 's3:tlsversion': '1.3' };

/**
 * Requests that every role must be refused. `test/screens/rights.txt` has every right of each role, and `recorded.test.ts`
 * finds those that no function uses.
 */
const NEVER: [action: string, resource: string, context?: Record<string, string>][] = [
  ['s3:DeleteObject', `${bucket}/runs/leads/a/data.csv`],
  ['s3:PutObject', `${bucket}/elsewhere/data.csv`],
  ['s3:PutObject', `${bucket}/updates/batch/input.jsonl`],
  ['s3:GetObject', `${logs}/exports/line`],
  ['s3:GetObject', 'arn:aws:s3:::another-bucket/runs/leads/a/data.csv'],
  ['secretsmanager:PutSecretValue', clientSecret],
  ['secretsmanager:DeleteSecret', tokens],
  ['secretsmanager:GetSecretValue', tokens.replace('TokensOAuthTokens', 'AnotherSecret')],
  ['dynamodb:GetItem', ledger],
  ['dynamodb:UpdateItem', `${ledger}-of-another`],
  ['kms:Decrypt', key],
  ['kms:Decrypt', key, via('secretsmanager')],
  ['kms:Decrypt', key, ofSecret(tokens.replace('TokensOAuthTokens', 'AnotherSecret'))],
  ['kms:Decrypt', `${key}-of-another`, via('s3')],
  ['kms:Encrypt', key, via('s3')],
  ['iam:PassRole', roleOfStep(names, 'CreateExport')],
];

function request(role: string, action: string, resource: string, context: Record<string, string> = {}): Request {
  return { role, action, resource, context: { ...secure, ...context } };
}

const text = ({ action, resource, context, ...who }: Request | ServiceRequest) =>
  `${Object.values(who)[0]} ${action} ${resource} ${JSON.stringify(context)}`;

async function allowed(requests: (Request | ServiceRequest)[]): Promise<string[]> {
  const decisions = await decide(policies, requests);
  return requests.filter((_, index) => decisions.requests[index] === 'Allow').map(text);
}

test('a right that no role needs is refused to every role', async () => {
  const requests = Object.keys(policies.roles).flatMap((role) =>
    NEVER.map(([action, resource, context]) => request(role, action, resource, context)),
  );

  expect(await allowed(requests)).toEqual([]);
});

test('the grant is open to the functions that call the CRM, and to no other', async () => {
  const callers = ['CreateExport', 'CheckStatus', 'DownloadFile', 'ApplyChunk'];
  const needed: typeof NEVER = [
    ...[clientSecret, tokens].map((arn): (typeof NEVER)[number] => ['secretsmanager:GetSecretValue', arn]),
    ['secretsmanager:PutSecretValue', tokens],
    ['dynamodb:UpdateItem', ledger],
    ['kms:Decrypt', key, ofSecret(clientSecret)],
    ['kms:Decrypt', key, ofSecret(tokens)],
    ['kms:Decrypt', key, via('dynamodb')],
  ];
  const of = (steps: string[]) =>
    steps.flatMap((step) => needed.map((right) => request(roleOfStep(names, step), ...right)));

  expect(await allowed(of(Object.keys(ALL_STEPS)))).toEqual(
    of(Object.keys(ALL_STEPS).filter((step) => callers.includes(step))).map(text),
  );
});

describe('the policy of the bucket', () => {
  const put = (context: Record<string, string>) =>
    request(roleOfStep(names, 'DownloadFile'), 's3:PutObject', `${bucket}/runs/leads/a/data.csv`, context);
  const algorithm = (value: string) => ({ 's3:x-amz-server-side-encryption': value });
  const keyId = (value: string) => ({ 's3:x-amz-server-side-encryption-aws-kms-key-id': value });

  test('accepts a file without encryption headers, and one with the key of the deployment', async () => {
    const requests = [put({}), put({ ...algorithm('aws:kms'), ...keyId(key) })];

    expect(await allowed(requests)).toHaveLength(requests.length);
  });

  test('refuses plain http, old TLS, and any other key or encryption', async () => {
    const refused: Record<string, string>[] = [
      { 'aws:securetransport': 'false' },
      { 's3:tlsversion': '1.1' },
      algorithm('AES256'),
      // No key by name is the key of the account, not of the bucket.
      algorithm('aws:kms'),
      { ...algorithm('aws:kms'), ...keyId(`${key}-of-another`) },
      { 's3:x-amz-server-side-encryption-customer-algorithm': 'AES256' },
    ];

    expect(await allowed(refused.map(put))).toEqual([]);
  });
});

describe('the policy of the key', () => {
  const use = (service: string, action: string, context: Record<string, string>): ServiceRequest => {
    return { service, action: `kms:${action}`, resource: key, context };
  };
  const alarm = (account: string, name: string) => ({
    'aws:sourceaccount': account,
    'aws:sourcearn': `arn:aws:cloudwatch:${REGION}:${account}:alarm:${name}`,
  });
  const group = (name: string) => ({
    'kms:encryptioncontext:aws:logs:arn': `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${name}`,
  });
  const logService = `logs.${REGION}.amazonaws.com`;

  beforeAll(() => expect(policies.resources).toHaveProperty([key]));

  test('lets alarms publish, rules send and CloudWatch Logs write log groups', async () => {
    const ours = alarm(ACCOUNT, 'crm-export-example-ExecutionsAborted');
    const requests = [
      ...['Decrypt', 'GenerateDataKey'].map((action) => use('cloudwatch.amazonaws.com', action, ours)),
      ...['Decrypt', 'GenerateDataKey'].map((action) => use('events.amazonaws.com', action, {})),
      ...['/aws/lambda/crm-export-example-CreateExport', '/aws/vendedlogs/states/crm-export-example-ExportRun'].flatMap(
        (name) => ['Encrypt', 'Decrypt', 'GenerateDataKey'].map((action) => use(logService, action, group(name))),
      ),
    ];

    expect(await allowed(requests)).toHaveLength(requests.length);
  });

  test('refuses other alarms, other log groups and other services', async () => {
    const requests = [
      use('cloudwatch.amazonaws.com', 'Decrypt', alarm('999999999999', 'crm-export-example-ExecutionsAborted')),
      use('cloudwatch.amazonaws.com', 'Decrypt', alarm(ACCOUNT, 'another-alarm')),
      use('cloudwatch.amazonaws.com', 'Decrypt', {}),
      use(logService, 'Decrypt', group('/aws/lambda/another-function')),
      use(logService, 'Decrypt', {}),
      use('events.amazonaws.com', 'ScheduleKeyDeletion', {}),
      use('lambda.amazonaws.com', 'Decrypt', {}),
      use('s3.amazonaws.com', 'Decrypt', {}),
    ];

    expect(await allowed(requests)).toEqual([]);
  });
});
