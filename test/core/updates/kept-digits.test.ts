import fc from 'fast-check';
import { expect, test } from 'vitest';
import { validateUpdates } from '../../../core/batch/validate-updates.ts';
import { CSV } from '../../../core/updates/read-csv.ts';
import { JSONL, type UpdateReader } from '../../../core/updates/read-updates.ts';
import { keepsDigits, ROUNDED, roundedField } from '../../../core/updates/update-line.ts';
import { runs } from '../../support/runs.ts';
import { bytesOf, idOf } from './support/lines.ts';

const ID = idOf(1);

const problemsIn = async (reader: UpdateReader, text: string) => {
  const { problems, records } = await validateUpdates(reader, bytesOf(text));
  return { records, problems: problems.first };
};

const KEPT = [
  ...['-0', '1.0', '-12.50', '1.5E-7', '9007199254740991', '100000000000000000.00e-3', '1e300'],
  // 16 and 17 digits that survive the conversion unchanged.
  ...['0.1234567890123456', '-123456789012.3456', '9007199254740994'],
];
const LOST = [
  ...['1234.56789012345678901', '1.00000000000000000001', '9007199254740993', '4e-324', '1e-99999999999'],
  ...['9007199254740991.5', `1${'0'.repeat(150)}1`],
];

test.each(KEPT)('accepts %s in JSON Lines and in CSV', async (number) => {
  const jsonl = await problemsIn(JSONL, `{"id":"${ID}","monthlyRevenue":${number}}\n`);
  const csv = await problemsIn(CSV, `id,monthlyRevenue\n${ID},${number}\n`);

  const accepted = { records: 1, problems: [] };
  expect([keepsDigits(number), jsonl, csv]).toEqual([true, accepted, accepted]);
});

test.each(LOST)('refuses %s, which would be rounded, with line and field in JSON Lines and in CSV', async (number) => {
  const jsonl = await problemsIn(JSONL, `\n{"id":"${ID}","notes":"x","monthlyRevenue" : ${number} , "smoker":true}\n`);
  const csv = await problemsIn(CSV, `id,monthlyRevenue\n${ID},${number}\n`);

  const refused = { records: 0, problems: [{ line: 2, field: 'monthlyRevenue', sentence: ROUNDED }] };
  expect([jsonl, csv]).toEqual([refused, refused]);
});

test('takes linear time for a number with a long run of zeros', () => {
  expect(keepsDigits(`0.1${'0'.repeat(500_000)}1`)).toBe(false);
});

test('ignores digits within texts', () => {
  const notes = '12345678901234567890 1e-99 \\" 0.12345678901234567890';
  expect(roundedField(`{"12345678901234567890":"${notes}","a":[1,2.5]}`)).toBeUndefined();
});

test('keeps every number that JavaScript writes with 15 digits', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -9e15, max: 9e15 }), (value) => {
      const text = String(Number(value.toPrecision(15)));
      expect(keepsDigits(text)).toBe(true);
      expect(roundedField(`{"a":${text}}`)).toBeUndefined();
    }),
  );
});

test('reports every number that is rounded, anywhere in a line', () => {
  const digits = (least: number, most: number) => fc.stringMatching(new RegExp(`^[1-9][0-9]{${least},${most}}$`));
  const number = fc.oneof(
    digits(0, 30),
    fc.tuple(digits(0, 18), digits(0, 18)).map(([whole, part]) => `-${whole}.${part}`),
    fc.tuple(digits(0, 16), fc.integer({ min: -400, max: 300 })).map(([whole, e]) => `${whole}e${e}`),
    fc.tuple(digits(0, 16), fc.integer({ min: -400, max: -90 })).map(([whole, e]) => `0.${whole}E${e}`),
  );
  const blank = fc.constantFrom('', ' ', '\r', '\t');
  fc.assert(
    fc.property(number, fc.string({ maxLength: 40 }), blank, fc.boolean(), (text, before, space, more) => {
      const json = `{"a":${JSON.stringify(before)},"b"${space}:${space}${text}${space}${more ? ',"c":1' : ''}}`;
      // A value that is too large for a number becomes Infinity, which every field refuses.
      const rounded = Number.isFinite(Number(text)) && !keepsDigits(text);
      expect(roundedField(json)).toBe(rounded ? 'b' : undefined);
    }),
    { numRuns: runs(2000) },
  );
});
