import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FIELD_RULES } from '../../../core/updates/customer-fields.ts';
import { hasId, problemsOf, shownName, updateLineSchema } from '../../../core/updates/update-line.ts';
import { runs } from '../../support/runs.ts';
import { expectMessages } from '../../support/screen.ts';
import { idOf } from './support/lines.ts';

const id = idOf(1);

test('refuses a line with one sentence on its field', async () => {
  const records: [field: string | null, record: Record<string, unknown>][] = [
    ['gender', { id, gender: 4 }],
    ['gender', { id, gender: '2' }],
    ['frstName', { id, frstName: 'x' }],
    ['ID', { id, ID: 'x', notes: '' }],
    ['somethingElse', { id, somethingElse: 'x' }],
    ['id', { notes: '' }],
    ['id', { id: null, notes: '' }],
    ['id', { id: 7, notes: '' }],
    [null, { id }],
    ['notes', { id, notes: 5 }],
    ['birthDate', { id, birthDate: '2023-02-29' }],
    ['email', { id, email: null }],
    ['updateRelated', { id, updateRelated: null }],
  ];
  const told = records.map(([field, record]) => {
    const problems = problemsOf(3, record);
    expect(problems).toEqual([{ line: 3, field, sentence: expect.any(String) }]);
    return [JSON.stringify(record), `${field}: ${problems[0]?.sentence}`] as const;
  });
  await expectMessages('update-line-refusals', told);
});

test('accepts null if allowNull is set, but never for updateRelated', () => {
  const allowed = { allowNull: true };

  expect(problemsOf(1, { id, email: null, gender: null, customFields: null }, allowed)).toEqual([]);
  expect(problemsOf(1, { id, email: null, updateRelated: null, emial: null, gender: 9 }, allowed)).toMatchObject([
    { field: 'updateRelated' },
    { field: 'gender' },
    { field: 'emial' },
  ]);
});

test('reports every wrong field once', () => {
  const record = { id: 'x', gender: 9, hight: 1, kupatHolim: 1, kupatHolimComplementary: 25 };

  const fields = problemsOf(1, record).map(({ field }) => field);
  expect(fields.toSorted()).toEqual(['gender', 'hight', 'id', 'kupatHolimComplementary']);
});

test('reports every unknown field, even of a line that has a great many', () => {
  const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`unknown-${n}`, 1]));

  expect(problemsOf(1, { id, notes: 'x', ...many })).toHaveLength(200_000);
});

test('no sentence quotes a value', () => {
  const wrong = Object.fromEntries(['id', 'gender', 'birthDate', 'classId'].map((field) => [field, 'Canary']));
  const record = { ...wrong, customFields: { Canary: 1 } };

  expect(JSON.stringify(problemsOf(1, record))).not.toContain('Canary');
});

const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, 'x', 1, '2024-02-29', '+972501234567', id, { present: null }),
  fc.jsonValue(),
);
const name = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...FIELD_RULES.keys()) },
  { arbitrary: fc.string(), weight: 1 },
);
const record = fc
  .tuple(fc.option(fc.oneof(fc.uuid(), value), { freq: 20 }), fc.dictionary(name, value, { maxKeys: 4 }))
  .map(
    ([who, fields]): Record<string, unknown> =>
      JSON.parse(JSON.stringify(who === null ? fields : { ...fields, id: who })),
  );

test('problemsOf accepts exactly what the schema accepts, and with allowNull also nulls that empty a field', () => {
  let taken = 0;
  fc.assert(
    fc.property(record, (given) => {
      const valid = problemsOf(1, given).length === 0;
      expect({ given, valid }).toEqual({ given, valid: updateLineSchema.safeParse(given).success });
      if (valid) expect(hasId(given)).toBe(true);
      const nulls = Object.keys(given).filter((key) => given[key] === null && key !== 'id');
      const emptied = nulls.every((key) => FIELD_RULES.has(key) && key !== 'updateRelated');
      const rest = Object.fromEntries(Object.entries(given).filter(([key]) => !nulls.includes(key)));
      // Emptying a field is a change: with one more field, the rest is a complete line.
      const takes =
        emptied && updateLineSchema.safeParse(nulls.length > 0 ? { shortName: 'x', ...rest } : rest).success;
      expect({ given, valid: problemsOf(1, given, { allowNull: true }).length === 0 }).toEqual({ given, valid: takes });
      if (valid) taken += 1;
    }),
    { numRuns: runs(5000) },
  );
  expect(taken).toBeGreaterThan(runs(50));
});

test.each([
  ['colour', 'colour'],
  ['', '(empty name)'],
  ['a\u001b[31m\nb', 'a?[31m?b'],
  ['x'.repeat(5000), `${'x'.repeat(40)}…`],
  ['😀'.repeat(5000), `${'😀'.repeat(40)}…`],
  ['שם פרטי', 'שם פרטי'],
])('shows a name without control characters, and at most 40 characters of it: %j', (name, shown) => {
  expect(shownName(name)).toBe(shown);
});
