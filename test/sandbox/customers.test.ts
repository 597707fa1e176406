import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { type DocumentedField, documentedFields } from '../../sandbox/api/customer-rules.ts';
import { idAt } from '../../sandbox/data/records.ts';
import { apiOf, exportedFile, sandboxFor } from './client.ts';

/** Values of each type that the interface allows and forbids. */
const EXAMPLES: Record<string, { good: unknown[]; bad: unknown[] }> = {
  boolean: { good: [true, false], bad: ['true', 1] },
  object: { good: [{}, { present: true }], bad: [{ absent: true }, { present: 1 }, [], 'x'] },
  number: { good: [1, 12.5, -1e300], bad: ['12'] },
  UUID: { good: ['3f2504e0-4f89-41d3-9a0c-0305e82c3301'], bad: ['7', 7] },
  'date-time': {
    good: ['2026-01-31T08:00:00Z', '2026-01-31T08:00+02:00', '2024-02-29T23:59:59.5-0330'],
    bad: ['2026-01-31', 'now', '2026-01-31T08:00:00', '2026-02-30T08:00Z', '2026-01-31T24:00Z'],
  },
  date: { good: ['2024-02-29'], bad: ['2025-02-29', '29/02/2024', '2024-02-29T00:00:00Z'] },
  phone: { good: ['+972501234567', '+972 (50) 123-45.67'], bad: ['0501234567', '+972 50', '+972 50 123 4567 x'] },
  text: { good: ['טקסט, "text"', ''], bad: [5, true] },
  int32: { good: [0, 7], bad: [1.5, '7', 2 ** 31] },
};

function examples({ type, codes }: DocumentedField): { good: unknown[]; bad: unknown[] } {
  if (type === 'code') return { good: Object.keys(codes).map(Number), bad: [0, 99, '1'] };
  const found = EXAMPLES[type];
  if (!found) throw new Error(`The reference has a new type: ${type}`);
  return found;
}

const FIELDS = documentedFields();
const ID = idAt('customers', 3);

test.each(FIELDS)(
  '$name, a $type, accepts documented values and null, and refuses others by its name',
  async (field) => {
    const { name } = field;
    const { good, bad } = examples(field);
    const flag = name === 'updateRelated';
    const sandbox = await sandboxFor();
    const send = (value: unknown) => apiOf(sandbox)('PATCH', `/customers/${ID}`, { [name]: value });
    for (const value of [...good, ...(flag ? [] : [null])])
      expect({ value, status: (await send(value)).status }).toEqual({ value, status: 200 });
    sandbox.ledger.clear();
    for (const value of [...bad, ...(flag ? [null] : [])]) {
      const answer = await send(value);
      expect({ value, status: answer.status }).toEqual({ value, status: 422 });
      expect(await answer.json()).toMatchObject({ error: { fields: [name] } });
    }
    expect(sandbox.ledger.calls({ kind: 'update' }).some(({ applied }) => applied)).toBe(false);
  },
);

test('an update changes the record in the next export', async () => {
  const sandbox = await sandboxFor();
  const answer = await apiOf(sandbox)('PATCH', `/customers/${ID}`, {
    city: 'אילת',
    drugs: 'none',
    updateRelated: true,
  });
  expect(await answer.json()).toMatchObject({ id: ID, city: 'אילת', drugs: 'none' });
  const file = await fetch(await exportedFile(sandbox, 'customers', { columns: ['id', 'city'] }));
  expect(parse(await file.text())).toContainEqual([ID, 'אילת']);
  expect(sandbox.ledger.calls({ kind: 'update' })).toMatchObject([{ applied: true, status: 200 }]);
});

test('a removed customer is in no export, and an unknown customer cannot be updated', async () => {
  const sandbox = await sandboxFor({ rows: 4 });
  sandbox.records.remove('customers', 1);
  const file = await fetch(await exportedFile(sandbox, 'customers', { columns: ['id'] }));
  expect(parse(await file.text())).toEqual([['id'], ...[0, 2, 3].map((index) => [idAt('customers', index)])]);
  const missing = [idAt('customers', 1), idAt('customers', 20), idAt('leads', 3), 'x'];
  for (const id of missing) expect((await apiOf(sandbox)('PATCH', `/customers/${id}`, {})).status).toBe(404);
});
