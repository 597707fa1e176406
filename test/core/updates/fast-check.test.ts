import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FIELD_RULES } from '../../../core/updates/customer-fields.ts';
import { hasId, isUpdateLine } from '../../../core/updates/fast-check.ts';
import { problemsOf, updateLineSchema } from '../../../core/updates/update-line.ts';

const near = fc.constantFrom<unknown>(
  ...[-1, 0, 1, 2, 5, 6, 7, 8, 10, 11, 22, 41, 42, 0.5, -0, 2 ** 31, 2 ** 31 - 1, -(2 ** 31), 2 ** 53, 2 ** 53 - 1],
  ...['', '1', 'true', '2024-02-29', '2023-02-29', '1900-02-29', '2024-1-1', '2024-02-29T10:00:00Z'],
  ...['2024-02-29T10:00:00', '2024-02-29T10:00Z', '2023-02-29T10:00:00+02:00', '2024-02-29 10:00:00Z'],
  ...['+972 50-123.45.67', '+(972) 501234567', '+972501234567 ', '2024-02-29T10:00+02', '2024-02-29T10:00:00.5Z'],
  ...['+972501234567', '+0972', '+1', '972501234567', '00000000-0000-4000-8000-000000000001', 'no-uuid'],
  ...['2024-02-29\n', '+972501234567\n'],
  ...[true, false, null, [], {}, { present: true }, { present: 'yes' }, { present: null }, { present: true, a: 1 }],
);
const value = fc.oneof(
  near,
  near,
  fc.jsonValue(),
  fc.double({ noNaN: true }),
  fc.date({ noInvalidDate: true }).map(String),
);
const name = fc.oneof(fc.constantFrom(...FIELD_RULES.keys()), fc.constantFrom('kupatHolim', 'kupatHolimComplementary'));
const anyName = fc.oneof({ weight: 20, arbitrary: name }, { weight: 1, arbitrary: fc.string() });
const id = fc.oneof({ weight: 9, arbitrary: fc.uuid() }, { weight: 1, arbitrary: value });
const record = fc
  .tuple(fc.option(id, { nil: undefined, freq: 20 }), fc.array(fc.tuple(anyName, value), { maxLength: 4 }))
  .map(([who, fields]): Record<string, unknown> => {
    const pairs = fields.map(([key, content]) => `${JSON.stringify(key)}:${JSON.stringify(content) ?? null}`);
    return JSON.parse(`{${[...(who === undefined ? [] : [`"id":${JSON.stringify(who)}`]), ...pairs].join(',')}}`);
  });

test('the quick check takes exactly what the schema takes', () => {
  let taken = 0;
  fc.assert(
    fc.property(record, (given) => {
      const quick = hasId(given) && isUpdateLine(given);
      if (quick) taken += 1;
      expect({ given, taken: quick }).toEqual({ given, taken: updateLineSchema.safeParse(given).success });
      expect(problemsOf(1, given).length === 0).toBe(quick);
      const allowed = { allowNull: true };
      expect(problemsOf(1, given, allowed).length === 0).toBe(hasId(given) && isUpdateLine(given, allowed));
    }),
    { numRuns: 5000 },
  );
  expect(taken).toBeGreaterThan(50);
});

test.each([...FIELD_RULES.keys()])('%s alone is judged alike, whatever it holds', (field) => {
  fc.assert(
    fc.property(value, (content) => {
      const given = JSON.parse(JSON.stringify({ id: '00000000-0000-4000-8000-000000000001', [field]: content }));
      expect(isUpdateLine(given)).toBe(updateLineSchema.safeParse(given).success);
    }),
    { numRuns: 200 },
  );
});
