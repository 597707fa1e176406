import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { customerFieldsSchema, FIELD_RULES, type FieldRule, ofOneFund } from '../../../core/updates/customer-fields.ts';

interface Row {
  name: string;
  type: string;
  notes: string;
}

/** The rows of the table of section 2.1, as the document has them. */
function documentRows(): Row[] {
  const text = readFileSync('docs/interface/customer-update-and-record-export.md', 'utf8');
  const section = text.split('### 2.1 ')[1]?.split('\n### ')[0] ?? '';
  const rows = [...section.matchAll(/^\| (.+?) \| (.+?) \| (.+?) \|$/gm)];
  return rows.slice(1).map(([, name = '', type = '', notes = '']) => ({ name, type, notes }));
}

/** What the document says of a field, as a rule. */
function documentRule({ type, notes }: Row): FieldRule {
  if (type === 'boolean') return { kind: 'flag' };
  if (type === 'number') return { kind: 'number' };
  if (type === 'string (UUID)') return { kind: 'uuid' };
  if (type === 'object, deprecated') return { kind: 'customFields', deprecated: true };
  if (type === 'integer (int32)') return integerRule(notes);
  if (type !== 'string') throw new Error(`The document has a new type: ${type}`);
  if (/^Date, .*YYYY-MM-DD\)?$/.test(notes)) return { kind: 'date' };
  if (notes.startsWith('ISO 8601 date-time')) return { kind: 'dateTime' };
  return { kind: notes.includes('international format with leading +') ? 'phone' : 'text' };
}

function integerRule(notes: string): FieldRule {
  const listed = [...notes.matchAll(/(?:^|, )(\d+) ([^,]+)/g)];
  if (/^\d/.test(notes))
    return { kind: 'code', meanings: meaningsOf(listed.map(([, code, meaning]) => [code, meaning])) };
  const bare = /code: ([\d, ]+)/
    .exec(notes)?.[1]
    ?.split(', ')
    .map((code) => code.trim());
  if (!bare) return { kind: 'int32' };
  const groups = new Map([...notes.matchAll(/(\d)x (fund \d)/g)].map(([, tens, fund]) => [tens, fund]));
  const meaning = (code: string) => (groups.size > 0 ? `of ${groups.get(code.charAt(0))}` : `fund ${code}`);
  return { kind: 'code', meanings: meaningsOf(bare.map((code) => [code, meaning(code)])) };
}

const meaningsOf = (pairs: [string | undefined, string | undefined][]): Record<number, string> =>
  Object.fromEntries(pairs);

describe('the fields', () => {
  test('are the 57 of the document, in its order', () => {
    expect(documentRows()).toHaveLength(57);
    expect([...FIELD_RULES.keys()]).toEqual(documentRows().map((row) => row.name));
  });

  test.each(documentRows())('$name is what the document says: $type, $notes', (row) => {
    expect(FIELD_RULES.get(row.name)).toEqual(documentRule(row));
  });

  test('each have a description', () => {
    const without = Object.entries(customerFieldsSchema.shape).filter(([, schema]) => !schema.description);

    expect(without).toEqual([]);
  });
});

test('the tens digit of a plan is its fund', () => {
  for (const [plan, meaning] of Object.entries(FIELD_RULES.get('kupatHolimComplementary')?.meanings ?? {})) {
    expect(meaning).toBe(`of fund ${plan.charAt(0)}`);
    for (const fund of [1, 2, 3, 4, 5]) {
      const given = { kupatHolim: fund, kupatHolimComplementary: Number(plan) };
      expect(ofOneFund(given)).toBe(meaning === `of fund ${fund}`);
    }
  }
});

describe('absent, null and a value', () => {
  test.each([...FIELD_RULES.keys()])('%s may be absent; null is no value', (name) => {
    expect(customerFieldsSchema.parse({})).toEqual({});
    expect(customerFieldsSchema.safeParse({ [name]: null }).success).toBe(false);
  });

  test('an empty text is a value', () => {
    expect(customerFieldsSchema.parse({ notes: '' })).toEqual({ notes: '' });
  });
});

test.each<[string, unknown]>([
  ['gender', '1'],
  ['gender', 4],
  ['gender', 1.5],
  ['gender', true],
  ['smoker', 'true'],
  ['smoker', 1],
  ['notes', 5],
  ['height', 2 ** 31],
  ['height', 1.5],
  ['height', '180'],
  ['monthlyRevenue', Number.POSITIVE_INFINITY],
  ['monthlyRevenue', '1'],
  ['birthDate', '2023-02-29'],
  ['birthDate', '1990-1-1'],
  ['birthDate', '1990-01-01T00:00:00Z'],
  ['customerServiceContactDate', '2026-11-21T10:00:00'],
  ['customerServiceContactDate', '2026-11-21T10:00'],
  ['customerServiceContactDate', '2026-11-21 10:00Z'],
  ['customerServiceContactDate', '2026-11-21T24:00:00Z'],
  ['customerServiceContactDate', '2026-02-30T10:00:00Z'],
  ['cellNumber', '0501234567'],
  ['cellNumber', '+972501'],
  ['cellNumber', '+1234567890123456'],
  ['cellNumber', '+972 50 123 4567 ext. 3'],
  ['cellNumber', '+972501234567\n'],
  ['cellNumber', '972+501234567'],
  ['classId', '123'],
  ['customFields', { present: 1 }],
  ['customFields', { present: true, more: 1 }],
])('%s is not taken as %j: nothing is converted', (name, value) => {
  expect(customerFieldsSchema.safeParse({ [name]: value }).success).toBe(false);
});

test.each<[string, unknown]>([
  ['height', -(2 ** 31)],
  ['monthlyRevenue', 0.1],
  ['monthlyRevenue', -1e300],
  ['monthlyRevenue', 2 ** 60],
  ['birthDate', '2024-02-29'],
  ['customerServiceContactDate', '2026-11-21T10:00:00Z'],
  ['customerServiceContactDate', '2026-11-21T10:00:00.5+02:00'],
  ['customerServiceContactDate', '2026-11-21T10:00Z'],
  ['customerServiceContactDate', '2026-11-21T10:00+02:00'],
  ['customerServiceContactDate', '2024-02-29T23:59:59.123456789-0330'],
  ['cellNumber', '+972501234567'],
  ['cellNumber', '+1234567'],
  ['cellNumber', '+972 (50) 123-45.67'],
  ['cellNumber', '+(972) 50-1234567'],
  ['customFields', {}],
  ['customFields', { present: true }],
  ['customFields', { present: false }],
  ['kupatHolimComplementary', 41],
])('%s may be %j', (name, value) => {
  expect(customerFieldsSchema.parse({ [name]: value })).toEqual({ [name]: value });
});

test.each([
  [1, 10, true],
  [4, 41, true],
  [2, 10, false],
  [5, 40, false],
  [undefined, 10, true],
  [1, undefined, true],
])('fund %s with plan %s is taken; of one fund: %s', (kupatHolim, kupatHolimComplementary, fits) => {
  expect(customerFieldsSchema.safeParse({ kupatHolim, kupatHolimComplementary }).success).toBe(true);
  expect(ofOneFund({ kupatHolim, kupatHolimComplementary })).toBe(fits);
});
