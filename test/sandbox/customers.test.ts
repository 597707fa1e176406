import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { idAt } from '../../sandbox/data/records.ts';
import { apiOf, exportedFile, sandboxFor } from './client.ts';

const ID = idAt('customers', 3);

test.each<[name: string, good: unknown, bad: unknown]>([
  ['birthDate', '2024-02-29', '2025-02-29'],
  ['gender', null, 99],
])('%s accepts %j and refuses %j by its name, as documented', async (name, good, bad) => {
  const sandbox = await sandboxFor();
  const send = (value: unknown) => apiOf(sandbox)('PATCH', `/customers/${ID}`, { [name]: value });
  expect((await send(good)).status).toBe(200);
  const refused = await send(bad);
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ error: { fields: [name] } });
  expect(sandbox.ledger.calls({ kind: 'update' }).map(({ applied }) => applied)).toEqual([true, false]);
});

test('a removed customer is in no export, and an unknown customer cannot be updated', async () => {
  const sandbox = await sandboxFor({ rows: 4 });
  sandbox.records.remove('customers', 1);
  const file = await fetch(await exportedFile(sandbox, 'customers', { columns: ['id'] }));
  expect(parse(await file.text())).toEqual([['id'], ...[0, 2, 3].map((index) => [idAt('customers', index)])]);
  const missing = [idAt('customers', 1), idAt('customers', 20), idAt('leads', 3), 'x'];
  for (const id of missing) expect((await apiOf(sandbox)('PATCH', `/customers/${id}`, {})).status).toBe(404);
});
