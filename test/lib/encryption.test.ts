import { describe, expect, test } from 'vitest';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { type Resource, resolved } from '../../scripts/template.ts';
import { allOf, listed, oneOf, rightsOf, type Statement, statementsOf } from './support/template.ts';

const json = synthesise(fullDeployment());
const [keyId, key] = oneOf(json, 'AWS::KMS::Key');
const keyArn = `${keyId}.Arn`;

describe('the key', () => {
  test('is rotated, and survives the stack, also where making it fails: something may be encrypted with it', () => {
    expect(key.Properties.EnableKeyRotation).toBe(true);
    expect(key).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
    expect(resolved(json.Outputs.KeptOnDestroy?.Value)).toContain(`key ${keyId}`);
  });

  test.each<[what: string, type: string, keyOf: (properties: Resource['Properties']) => unknown]>([
    [
      'the bucket of the exports',
      'AWS::S3::Bucket',
      ({ BucketEncryption }) =>
        BucketEncryption.ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.KMSMasterKeyID,
    ],
    ['both secrets', 'AWS::SecretsManager::Secret', ({ KmsKeyId }) => KmsKeyId],
    ['the ledger', 'AWS::DynamoDB::GlobalTable', ({ Replicas }) => Replicas[0].SSESpecification.KMSMasterKeyId],
    ['the topic of the alarms', 'AWS::SNS::Topic', ({ KmsMasterKeyId }) => KmsMasterKeyId],
    ['both queues', 'AWS::SQS::Queue', ({ KmsMasterKeyId }) => KmsMasterKeyId],
    ['every log group', 'AWS::Logs::LogGroup', ({ KmsKeyId }) => KmsKeyId],
  ])('encrypts %s', (_, type, keyOf) => {
    const encrypted = allOf(json, type).filter(([id]) => !id.startsWith('ExportsAccessLogs'));

    expect(encrypted.length).toBeGreaterThan(0);
    // DynamoDB returns the key's id: with an ARN in the template, every new stack would show as drifted.
    const named = type === 'AWS::DynamoDB::GlobalTable' ? keyId : keyArn;
    for (const [id, { Properties }] of encrypted) expect(resolved(keyOf(Properties)), id).toBe(named);
  });

  test('has a data key for the bucket, and is a key of KMS to the table', () => {
    const [, bucket] = oneOf(json, 'AWS::S3::Bucket', 'ExportsBucket');
    const [, table] = oneOf(json, 'AWS::DynamoDB::GlobalTable');

    expect(bucket.Properties.BucketEncryption.ServerSideEncryptionConfiguration).toMatchObject([
      { BucketKeyEnabled: true, ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms' } },
    ]);
    expect(table.Properties.SSESpecification).toEqual({ SSEEnabled: true, SSEType: 'KMS' });
  });
});

describe("the key's policy", () => {
  const bySid = (sid: string): Statement => statementsOf(key).find(({ Sid }) => Sid === sid);

  test('gives all to the account, and something to three services and to readers in other accounts', () => {
    expect(statementsOf(key).map(({ Sid, Effect }) => [Sid, Effect])).toEqual([
      [undefined, 'Allow'],
      ['AlarmsPublish', 'Allow'],
      ['RulesSend', 'Allow'],
      ['LogsEncrypt', 'Allow'],
      ['Readers1Decrypts', 'Allow'],
      ['Readers2Decrypts', 'Allow'],
      ['Readers3Decrypts', 'Allow'],
    ]);
    expect(resolved(statementsOf(key)[0].Principal.AWS)).toBe('arn:aws:iam::AWS::AccountId:root');
  });

  test('lets alarms of this stack, in this account, publish to the topic', () => {
    const { Principal, Action, Condition } = bySid('AlarmsPublish');

    expect(Principal).toEqual({ Service: 'cloudwatch.amazonaws.com' });
    expect(Action).toEqual(['kms:Decrypt', 'kms:GenerateDataKey*']);
    expect(Condition.StringEquals).toEqual({ 'aws:SourceAccount': { Ref: 'AWS::AccountId' } });
    const [, alarm] = allOf(json, 'AWS::CloudWatch::Alarm')[0] ?? [];
    const pattern = resolved(Condition.ArnLike['aws:SourceArn']);
    expect(pattern).toBe('arn:aws:cloudwatch:AWS::Region:AWS::AccountId:alarm:crm-export-example-*');
    expect(alarm?.Properties.AlarmName).toMatch(/^crm-export-example-/);
  });

  test('lets rules send to the queue, on no condition that their requests could not meet', () => {
    expect(bySid('RulesSend')).toEqual({
      Sid: 'RulesSend',
      Effect: 'Allow',
      Principal: { Service: 'events.amazonaws.com' },
      Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
      Resource: '*',
    });
  });

  test('lets CloudWatch Logs encrypt each log group of the stack, and no other', () => {
    const { Principal, Condition } = bySid('LogsEncrypt');
    const patterns = listed(Condition.ArnLike['kms:EncryptionContext:aws:logs:arn']).map(resolved);
    const names = allOf(json, 'AWS::Logs::LogGroup').map(([, { Properties }]) => Properties.LogGroupName);

    expect(resolved(Principal.Service)).toBe('logs.AWS::Region.AWS::URLSuffix');
    expect(names).toHaveLength(13);
    for (const name of names) {
      const arn = `arn:aws:logs:AWS::Region:AWS::AccountId:log-group:${name}`;
      expect(patterns.filter((pattern) => arn.startsWith(pattern.replace(/\*$/, '')))).toHaveLength(1);
    }
    for (const pattern of patterns) expect(pattern).toMatch(/\/crm-export-example-\*$/);
  });
});

/** The rights of a role on the key, with the service of each: "Decrypt s3". */
function keyRights(roleId: string): string[] {
  const policies = allOf(json, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
    Properties.Roles.some((role: unknown) => resolved(role).startsWith(roleId)),
  );
  return policies
    .flatMap(([, policy]) => statementsOf(policy))
    .filter(({ Action }) => listed(Action).some((action) => String(action).startsWith('kms:')))
    .flatMap(({ Action, Resource, Condition }) => {
      expect(resolved(Resource)).toBe(keyArn);
      const service = resolved(Condition.StringEquals['kms:ViaService']).replace('.AWS::Region.AWS::URLSuffix', '');
      return listed(Action).map((action) => `${String(action).replace('kms:', '')} ${service}`);
    })
    .sort();
}

describe('a role may use the key', () => {
  const tokens = ['Decrypt dynamodb', 'Decrypt secretsmanager', 'GenerateDataKey secretsmanager'];
  const files = ['Decrypt s3', 'GenerateDataKey s3'];

  test.each([
    ['CreateExport', [...tokens, 'Decrypt s3']],
    ['CheckStatus', tokens],
    ['DownloadFile', [...tokens, ...files]],
    ['PublishFile', files],
    ['ValidateBatch', files],
    ['ApplyChunk', [...tokens, ...files]],
    ['SummarizeBatch', files],
    ['CustomerUpdatesMachine', ['Decrypt s3']],
    ['WriteTable', ['Decrypt s3', 'Decrypt secretsmanager', 'GenerateDataKey s3']],
    ['ExportRunMachine', []],
    ['NightlyStart', []],
  ])('of %s by way of the services that it works with only', (role, rights) => {
    expect(keyRights(`${role}Role`)).toEqual(rights.toSorted());
  });

  test('for the grant and its client, or for the key of hashed columns, where it is for a secret', () => {
    const secrets = allOf(json, 'AWS::SecretsManager::Secret').map(([id]) => ({ Ref: id }));
    const grant = secrets.filter(({ Ref }) => Ref.startsWith('Tokens'));
    const hashKey = secrets.filter(({ Ref }) => Ref.startsWith('TablesHashKey'));
    const statements = allOf(json, 'AWS::IAM::Policy')
      .flatMap(([, policy]) => statementsOf(policy))
      .map(({ Condition }) => Condition?.StringEquals ?? {})
      .filter((condition) => resolved(condition['kms:ViaService'] ?? '').startsWith('secretsmanager.'));

    const named = statements.map((condition) => condition['kms:EncryptionContext:SecretARN']);
    expect(named).toHaveLength(5);
    expect(named.filter((ids) => ids.length === 2)).toEqual(Array(4).fill(grant));
    expect(named.filter((ids) => ids.length === 1)).toEqual([hashKey]);
  });

  test('and never all of it', () => {
    const everything = allOf(json, 'AWS::IAM::Role').flatMap(([id]) => rightsOf(json, id, /^kms:/));

    expect(everything.length).toBeGreaterThan(0);
    for (const right of everything) expect(right).toMatch(/^kms:(Decrypt|GenerateDataKey) /);
  });
});

describe('the bucket refuses to store under another key', () => {
  const [bucketId] = oneOf(json, 'AWS::S3::Bucket', 'ExportsBucket');
  const [, policy] = oneOf(json, 'AWS::S3::BucketPolicy', 'ExportsBucketPolicy');
  const denials = statementsOf(policy).filter(({ Effect, Action }) => Effect === 'Deny' && Action === 's3:PutObject');
  const ALGORITHM = 's3:x-amz-server-side-encryption';
  const KEY_ID = 's3:x-amz-server-side-encryption-aws-kms-key-id';

  /** Whether a request with these headers meets all conditions of a denial, as IAM evaluates them. */
  const denied = (headers: Record<string, string>) =>
    denials.some(({ Condition }) =>
      Object.entries(Condition as Record<string, Record<string, unknown>>).every(([operator, tests]) =>
        Object.entries(tests).every(([name, value]) => holds(operator, headers[name], resolved(value))),
      ),
    );

  test('for everybody, for every object', () => {
    expect(denials).toHaveLength(4);
    for (const { Principal, Resource } of denials) {
      expect([Principal, resolved(Resource)]).toEqual(['*', `${bucketId}.Arn/*`]);
    }
  });

  test.each<[what: string, headers: Record<string, string>, refused: boolean]>([
    ['a request without a word of it', {}, false],
    ['one that names this key', { [ALGORITHM]: 'aws:kms', [KEY_ID]: keyArn }, false],
    ['one that names another', { [ALGORITHM]: 'aws:kms', [KEY_ID]: 'arn:aws:kms:eu-west-1:1:key/2' }, true],
    ["one that wants the account's own key for S3", { [ALGORITHM]: 'aws:kms' }, true],
    ["one that wants S3's own keys", { [ALGORITHM]: 'AES256' }, true],
    ['one that wants two layers', { [ALGORITHM]: 'aws:kms:dsse', [KEY_ID]: keyArn }, true],
    ['one that brings a key', { 's3:x-amz-server-side-encryption-customer-algorithm': 'AES256' }, true],
  ])('%s: %j', (_, headers, refused) => {
    expect(denied(headers)).toBe(refused);
  });
});

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html */
function holds(operator: string, value: string | undefined, wanted: string): boolean {
  if (operator === 'Null') return (value === undefined) === (wanted === 'true');
  if (operator === 'StringEquals') return value === wanted;
  // A negated operator is true for an absent key.
  if (operator === 'StringNotEquals') return value !== wanted;
  throw new Error(`no such operator here: ${operator}`);
}

describe('the bucket of the access logs', () => {
  const [logsId, logs] = oneOf(json, 'AWS::S3::Bucket', 'ExportsAccessLogs');
  const [, policy] = oneOf(json, 'AWS::S3::BucketPolicy', 'ExportsAccessLogs');
  const [exportsId, exports] = oneOf(json, 'AWS::S3::Bucket', 'ExportsBucket');

  test('logs every request to the exports', () => {
    expect(exports.Properties.LoggingConfiguration).toEqual({
      DestinationBucketName: { Ref: logsId },
      LogFilePrefix: 'exports/',
    });
    expect(statementsOf(policy).filter(({ Effect }) => Effect === 'Allow')).toMatchObject([
      {
        Action: 's3:PutObject',
        Principal: { Service: 'logging.s3.amazonaws.com' },
        Condition: { ArnLike: { 'aws:SourceArn': { 'Fn::GetAtt': [exportsId, 'Arn'] } } },
      },
    ]);
  });

  test("has S3's own key, is closed, kept, and forgets with the log lines", () => {
    expect(logs).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    expect(logs.Properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      PublicAccessBlockConfiguration: { BlockPublicAcls: true, RestrictPublicBuckets: true },
      LifecycleConfiguration: { Rules: [{ ExpirationInDays: 365 }, {}, {}] },
    });
  });

  test('refuses what does not come by TLS 1.2 or later', () => {
    expect(statementsOf(policy).filter(({ Effect }) => Effect === 'Deny')).toMatchObject([
      { Action: 's3:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
      { Action: 's3:*', Condition: { NumericLessThan: { 's3:TlsVersion': 1.2 } } },
    ]);
  });
});
