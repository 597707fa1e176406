import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textTable } from '../../cli/support/text.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved } from '../../scripts/template.ts';
import { oneOf, textOf } from './support/template.ts';

/** The resources that hold or describe data: how they are encrypted, closed, kept and emptied, and what Athena sees. */

const SCREEN = join(import.meta.dirname, '../screens/kept-resources.txt');
const json = synthesise(fullDeployment({ retentionDays: 12, updates: { retentionDays: 11 }, logRetentionDays: 3 }));
const HOLDING_DATA =
  /^AWS::(S3::Bucket|S3::BucketPolicy|KMS::Key|SecretsManager::Secret|DynamoDB::GlobalTable|SNS::Topic|SQS::Queue|Glue::\w+)$/;
/** The policies are in `rights.txt`. */
const ELSEWHERE = ['KeyPolicy', 'PolicyDocument'];

/** A row for each value of the properties. */
function rowsOf(value: unknown, path: string): string[][] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  const [key = ''] = Object.keys(value);
  if (key === 'Ref' || key.startsWith('Fn::')) return [[path, textOf(value)]];
  return Object.entries(value).flatMap(([name, part]) =>
    ELSEWHERE.includes(name) ? [] : rowsOf(part, path ? `${path}.${name}` : name),
  );
}

test('the resources that hold data equal the stored table', async () => {
  const rows = Object.entries(json.Resources).flatMap(([id, { Type, Properties = {}, ...policies }]) =>
    HOLDING_DATA.test(Type) ? rowsOf({ ...policies, ...Properties }, '').map((row) => [id, ...row]) : [],
  );
  await expect(`${textTable(['resource', 'property', 'value'], rows)}\n`).toMatchFileSnapshot(SCREEN);
});

test('every log group has the key of the deployment and its retention, and is deleted with the stack', () => {
  const groups = Object.entries(json.Resources).filter(([, { Type }]) => Type === 'AWS::Logs::LogGroup');
  const [keyId] = oneOf(json, 'AWS::KMS::Key');
  const rows = groups.map(([id, { Properties, DeletionPolicy }]) => [
    ...[id, textOf(Properties.KmsKeyId), Properties.RetentionInDays, DeletionPolicy],
  ]);
  expect(rows).toEqual(groups.map(([id]) => [id, `${keyId}.Arn`, 3, 'Delete']));
});

test('the output KeptOnDestroy names every resource that stays when the stack is destroyed', () => {
  const kept = Object.entries(json.Resources).filter(
    ([, { Type, DeletionPolicy = '' }]) => DeletionPolicy.startsWith('Retain') && !Type.endsWith('Policy'),
  );
  const said = resolved(json.Outputs.KeptOnDestroy?.Value);

  expect(kept.length).toBeGreaterThan(5);
  for (const [id] of kept) expect(said).toContain(id);
});
