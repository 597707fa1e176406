import { describe, expect, test } from 'vitest';
import { customerFieldsSchema, FIELD_RULES, type FieldKind, ofOneFund } from '../../../core/updates/customer-fields.ts';
import { type DocumentedField, documentedFields } from '../../../sandbox/api/customer-rules.ts';
import { rowsOf } from '../../support/rows.ts';

const KINDS: Record<string, FieldKind> = {
  boolean: 'flag',
  number: 'number',
  code: 'code',
  int32: 'int32',
  text: 'text',
  date: 'date',
  'date-time': 'dateTime',
  UUID: 'uuid',
  phone: 'phone',
  object: 'customFields',
};

function documentedRule({ type, codes }: DocumentedField) {
  const kind = KINDS[type];
  if (!kind) throw new Error(`The reference has a new type: ${type}`);
  return { kind, meanings: kind === 'code' ? codes : undefined };
}

describe('the fields', () => {
  test('are the 57 of the reference, in its order', () => {
    expect(documentedFields()).toHaveLength(57);
    expect([...FIELD_RULES.keys()]).toEqual(documentedFields().map((row) => row.name));
  });

  test.each(documentedFields())('$name is a $type, as the reference says', (row) => {
    const [kind, , meanings] = FIELD_RULES.get(row.name) ?? [];
    expect({ kind, meanings }).toEqual(documentedRule(row));
  });
});

test('the tens digit of a plan is its fund', () => {
  for (const [plan, meaning] of Object.entries(FIELD_RULES.get('kupatHolimComplementary')?.[2] ?? {})) {
    expect(meaning).toBe(`of fund ${plan.charAt(0)}`);
    for (const fund of [1, 2, 3, 4, 5]) {
      const given = { kupatHolim: fund, kupatHolimComplementary: Number(plan) };
      expect(ofOneFund(given)).toBe(meaning === `of fund ${fund}`);
    }
  }
});

test.each([{ kupatHolim: 5, kupatHolimComplementary: 40 }, { kupatHolimComplementary: 10 }, { kupatHolim: 1 }])(
  '%j is accepted, even if fund and plan do not belong together',
  (given) => {
    expect(customerFieldsSchema.safeParse(given).success).toBe(true);
    expect(ofOneFund(given)).toBe(given.kupatHolim !== 5);
  },
);

describe('absent, null and a value', () => {
  test.each([...FIELD_RULES.keys()])('%s may be absent, and null is refused', (name) => {
    expect(customerFieldsSchema.parse({})).toEqual({});
    expect(customerFieldsSchema.safeParse({ [name]: null }).success).toBe(false);
  });

  test('an empty text is a value', () => {
    expect(customerFieldsSchema.parse({ notes: '' })).toEqual({ notes: '' });
  });
});

test.each(
  rowsOf<string, unknown>([
    ['gender', '1', 4, 1.5, true],
    ['smoker', 'true', 1],
    ['notes', 5],
    ['height', 2 ** 31, 1.5, '180'],
    ['monthlyRevenue', Number.POSITIVE_INFINITY, '1'],
    ['birthDate', '2023-02-29', '1990-1-1', '1990-01-01T00:00:00Z'],
    [
      'customerServiceContactDate',
      ...['2026-11-21T10:00:00', '2026-11-21T10:00', '2026-11-21 10:00Z', '2026-11-21T24:00:00Z'],
      ...['2026-02-30T10:00:00Z'],
    ],
    [
      'cellNumber',
      ...['0501234567', '+972501', '+1234567890123456', '+972 50 123 4567 ext. 3', '+972501234567\n', '972+501234567'],
    ],
    ['classId', '123'],
    ['customFields', { present: 1 }, { present: true, more: 1 }],
  ]),
)('%s refuses %j, because values are not converted', (name, value) => {
  expect(customerFieldsSchema.safeParse({ [name]: value }).success).toBe(false);
});

test.each(
  rowsOf<string, unknown>([
    ['height', -(2 ** 31)],
    ['monthlyRevenue', 0.1, -1e300, 2 ** 60],
    ['birthDate', '2024-02-29'],
    [
      'customerServiceContactDate',
      ...['2026-11-21T10:00:00Z', '2026-11-21T10:00:00.5+02:00', '2026-11-21T10:00Z', '2026-11-21T10:00+02:00'],
      ...['2024-02-29T23:59:59.123456789-0330'],
    ],
    ['cellNumber', '+972501234567', '+1234567', '+972 (50) 123-45.67', '+(972) 50-1234567'],
    ['customFields', {}, { present: true }, { present: false }],
    ['kupatHolimComplementary', 41],
  ]),
)('%s may be %j', (name, value) => {
  expect(customerFieldsSchema.parse({ [name]: value })).toEqual({ [name]: value });
});
