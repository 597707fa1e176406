import { expect, test } from 'vitest';
import { exampleDeployment, feedDeployment, tableDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { allOf, oneOf } from '../support/template.ts';

const plain = synthesise();
const tables = synthesise(tableDeployment());
const hashing = synthesise(tableDeployment({ hash: ['idNumber'] }));

test('a deployment without tables has no function, resource or output for them', () => {
  expect(allOf(plain, 'AWS::Lambda::Function')).toHaveLength(6);
  expect(Object.keys(plain.Resources).filter((id) => /^(WriteTable|Tables)/.test(id))).toEqual([]);
  expect(Object.keys(plain.Outputs).filter((id) => id.startsWith('Table'))).toEqual([]);
});

test.each([
  ['only tables', tables],
  ['neither tables nor feeds', plain],
])('with %s, the only part for feeds is the rule that expires old ones', (_, template) => {
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

test('WriteTable has the configured memory', () => {
  const deployment = exampleDeployment({ entities: { leads: { columns: ['id'], tables: {} } }, tableMemoryMB: 3008 });

  const [, { Properties }] = oneOf(synthesise(deployment), 'AWS::Lambda::Function', 'WriteTable');
  expect(Properties).toMatchObject({ MemorySize: 3008, EphemeralStorage: { Size: 10_240 } });
  // Lambda does not size the young heap if the function sets it.
  const options = '--max-old-space-size=2816 --max-semi-space-size=1';
  expect(Properties.Environment.Variables.NODE_OPTIONS).toBe(options);
});

test('the key of hashed columns exists only if a column is hashed, and an output names it', () => {
  expect(allOf(tables, 'AWS::SecretsManager::Secret')).toHaveLength(2);
  expect(allOf(hashing, 'AWS::SecretsManager::Secret')).toHaveLength(3);
  const [secretId] = oneOf(hashing, 'AWS::SecretsManager::Secret', 'TablesHashKey');
  expect(resolved(hashing.Outputs.TableHashKeyId?.Value)).toBe(secretId);
});
