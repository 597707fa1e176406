import { beforeAll, describe, expect, test } from 'vitest';
import { ALL_STEPS, MAILER, RECORDER } from '../../core/step/steps.ts';
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
const topic = names.arn(names.id('AWS::SNS::Topic'));
const queue = names.arn(names.id('AWS::SQS::Queue', 'Nightly'));
const exportRun = names.arn(names.id('AWS::StepFunctions::StateMachine', 'ExportRun'));
const functionOf = (step: string) => names.arn(names.id('AWS::Lambda::Function', `${step}Function`));
const steps = Object.keys(ALL_STEPS);
const withTokens = ['CreateExport', 'CheckStatus', 'DownloadFile', 'ApplyChunk'];
const withoutTokens = steps.filter((step) => !withTokens.includes(step));
const withoutBucket = ['CreateExport', 'CheckStatus'];
const via = (service: string) => ({ 'kms:viaservice': `${service}.${REGION}.amazonaws.com` });
const ofSecret = (arn: string) => ({ ...via('secretsmanager'), 'kms:encryptioncontext:secretarn': arn });
const below = (prefix: string) => ({ 's3:prefix': prefix });
const ofUpdates = ['ValidateBatch', 'ApplyChunk', 'SummarizeBatch'];
const secure = { 's3:tlsversion': '1.3' };

/**
 * Requests that every role must be refused. `test/screens/rights.txt` has every right, and `recorded.test.ts` finds those
 * that no function uses.
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

/** Requests that some functions may make and others must not. `test/screens/rights.txt` has every right. */
const OTHERS: [steps: string[], action: string, resource: string, context?: Record<string, string>][] = [
  [withoutTokens, 'secretsmanager:GetSecretValue', clientSecret],
  [withoutTokens, 'secretsmanager:GetSecretValue', tokens],
  [withoutTokens, 'secretsmanager:PutSecretValue', tokens],
  [withoutTokens, 'dynamodb:UpdateItem', ledger],
  [withoutTokens, 'kms:Decrypt', key, ofSecret(tokens)],
  [withoutTokens, 'kms:Decrypt', key, via('dynamodb')],
  [withTokens, 'kms:GenerateDataKey', key, via('dynamodb')],
  [[...steps, RECORDER], 'sns:Publish', topic],
  [[...steps, RECORDER], 'sqs:SendMessage', queue],
  [[RECORDER, MAILER, ...ofUpdates, ...withoutBucket], 's3:GetObject', `${bucket}/runs/leads/a/data.csv`],
  [[...withoutBucket, 'DownloadFile', 'PublishFile'], 's3:GetObject', `${bucket}/updates/batch/input.jsonl`],
  [['CreateExport'], 's3:ListBucket', bucket, below('runs/')],
  [steps.filter((step) => step !== 'PublishFile'), 's3:PutObject', `${bucket}/published/leads.json`],
  [['PublishFile'], 's3:PutObject', `${bucket}/runs/leads/a/data.csv`],
  [['PublishFile'], 's3:PutObjectTagging', `${bucket}/runs/entity=customers/run=a/customers.csv`],
  [steps, 'states:StartExecution', exportRun],
  [steps, 'lambda:InvokeFunction', `${functionOf('DownloadFile')}:live`],
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

describe('a right that a role does not need', () => {
  test('is refused to every role', async () => {
    const requests = Object.keys(policies.roles).flatMap((role) =>
      NEVER.map(([action, resource, context]) => request(role, action, resource, context)),
    );

    expect(await allowed(requests)).toEqual([]);
  });

  test('is refused to a function if only other functions need it', async () => {
    const requests = OTHERS.flatMap(([of, action, resource, context]) =>
      of.map((step) => request(roleOfStep(names, step), action, resource, context)),
    );

    expect(await allowed(requests)).toEqual([]);
  });

  test('is not refused too widely: needed rights under the same conditions are granted', async () => {
    const needed = [
      ...ofUpdates.map((step) => request(roleOfStep(names, step), 's3:ListBucket', bucket, below('updates/batch/'))),
      ...withTokens.flatMap((step) =>
        [clientSecret, tokens].map((arn) => request(roleOfStep(names, step), 'kms:Decrypt', key, ofSecret(arn))),
      ),
    ];

    expect(await allowed(needed)).toHaveLength(needed.length);
  });
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
