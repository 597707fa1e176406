import { describe, expect, test } from 'vitest';
import { exampleDeployment, feedDeployment, tableDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { allOf, allowedIn, oneOf, rightsOf } from '../support/template.ts';

const plain = synthesise();
const tables = synthesise(tableDeployment());
const hashing = synthesise(tableDeployment({ hash: ['idNumber'] }));

test('nothing of it is there unless an entity has tables', () => {
  expect(allOf(plain, 'AWS::Lambda::Function')).toHaveLength(6);
  expect(Object.keys(plain.Resources).filter((id) => /^(WriteTable|Tables)/.test(id))).toEqual([]);
  expect(Object.keys(plain.Outputs).filter((id) => id.startsWith('Table'))).toEqual([]);
});

test.each([
  ['tables alone', tables],
  ['neither', plain],
])('with %s, nothing of feeds is there but the rule that ends what was left of them', (_, template) => {
  const named = (one: typeof template) =>
    Object.entries({ ...one.Resources, ...one.Outputs }).filter(([, part]) =>
      /changes\/|WriteChanges|_changes/.test(JSON.stringify(part)),
    );
  const [[id, bucket] = ['', undefined], ...others] = named(template);
  const left = JSON.stringify(bucket).replace(
    '{"ExpirationInDays":90,"Id":"Changes","Prefix":"changes/","Status":"Enabled"}',
    '',
  );

  expect(others.map(([other]) => other)).toEqual([]);
  expect(id).toMatch(/^ExportsBucket/);
  expect(left).not.toMatch(/changes/i);
  // The same pattern finds the resources of a deployment with tables.
  expect(named(synthesise(feedDeployment())).length).toBeGreaterThan(5);
});

describe('the function WriteTable', () => {
  const [, { Properties }] = oneOf(tables, 'AWS::Lambda::Function', 'WriteTable');

  test('has a CPU of its own, as long as Lambda lets it run', () => {
    expect(Properties).toMatchObject({ FunctionName: 'crm-export-example-WriteTable', MemorySize: 1769, Timeout: 900 });
    expect(Object.keys(Properties.Environment.Variables).sort()).toEqual([
      'BUCKET_NAME',
      'DEPLOYMENT',
      'NODE_OPTIONS',
      'SOFTWARE_VERSION',
    ]);
  });

  test('has the memory that the configuration gives it', () => {
    const deployment = exampleDeployment({ entities: { leads: { columns: ['id'], tables: {} } }, tableMemoryMB: 3008 });

    const [, found] = oneOf(synthesise(deployment), 'AWS::Lambda::Function', 'WriteTable');
    expect(found.Properties).toMatchObject({ MemorySize: 3008, EphemeralStorage: { Size: 10_240 } });
    // Lambda does not size the young heap if the function sets it.
    const options = '--max-old-space-size=2816 --max-semi-space-size=1';
    expect(found.Properties.Environment.Variables.NODE_OPTIONS).toBe(options);
  });

  test('reads what is published, and writes tables alone', () => {
    const [bucketId] = oneOf(tables, 'AWS::S3::Bucket', 'ExportsBucket');
    const allowed = allowedIn(oneOf(tables, 'AWS::S3::BucketPolicy', 'ExportsBucketPolicy')[1], bucketId);

    expect(allowed.filter((right) => right.startsWith('WriteTable') || right.includes('tables/'))).toEqual([
      'RecordNight s3:GetObject /tables/*',
      'WriteTable s3:AbortMultipartUpload /tables/*',
      'WriteTable s3:GetObject /published/*',
      'WriteTable s3:GetObject /runs/*',
      'WriteTable s3:GetObject /tables/*',
      'WriteTable s3:ListBucket ',
      'WriteTable s3:PutObject /tables/*',
    ]);
    expect(rightsOf(tables, 'WriteTableRole', /^(secrets|glue|dynamodb)/)).toEqual([]);
  });
});

describe('the key of hashed columns', () => {
  const [secretId, secret] = oneOf(hashing, 'AWS::SecretsManager::Secret', 'TablesHashKey');

  test('is there only where a column is hashed', () => {
    expect(allOf(tables, 'AWS::SecretsManager::Secret')).toHaveLength(2);
    expect(allOf(hashing, 'AWS::SecretsManager::Secret')).toHaveLength(3);
    expect(resolved(hashing.Outputs.TableHashKeyId?.Value)).toBe(secretId);
  });

  test('is made once, encrypted with the key of the deployment, and survives the stack', () => {
    const [keyId] = oneOf(hashing, 'AWS::KMS::Key');

    expect(secret).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    expect(secret.Properties.GenerateSecretString).toEqual({ PasswordLength: 64, ExcludePunctuation: true });
    expect(resolved(secret.Properties.KmsKeyId)).toBe(`${keyId}.Arn`);
    expect(resolved(hashing.Outputs.KeptOnDestroy?.Value)).toContain(secretId);
  });

  test('is read by WriteTable and by no other function', () => {
    const readers = allOf(hashing, 'AWS::Lambda::Function')
      .map(([id]) => id.replace(/Function[0-9A-F]{8}$/, ''))
      .filter((step) => rightsOf(hashing, `${step}Role`).some((right) => right.includes(secretId)));

    expect(readers).toEqual(['WriteTable']);
    expect(rightsOf(hashing, 'WriteTableRole', /^secrets/)).toEqual([`secretsmanager:GetSecretValue ${secretId}`]);
    const [, { Properties }] = oneOf(hashing, 'AWS::Lambda::Function', 'WriteTable');
    expect(resolved(Properties.Environment.Variables.HASH_KEY_SECRET_ID)).toBe(secretId);
  });
});
