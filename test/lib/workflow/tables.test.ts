import { expect, test } from 'vitest';
import { feedDeployment, tableDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';

test.each([
  ['only tables', synthesise(tableDeployment())],
  ['neither tables nor feeds', synthesise()],
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
