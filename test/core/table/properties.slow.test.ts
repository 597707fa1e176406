import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ColumnType } from '../../../core/config/table-settings.ts';
import { runs } from '../../support/runs.ts';
import { placeForTables, putTable, rowsIn } from './support.ts';

const { path } = await placeForTables();

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'ז', '"', ',', '\n', '\r', ' ', '😀', '0', "'"), maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('', 'NULL', '0', '-1'),
);
const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`;
const csvOf = (rows: string[][]) => rows.map((row) => `${row.map(quoted).join(',')}\n`).join('');

const twoDigits = (value: number) => String(value).padStart(2, '0');
const decimal = { type: 'decimal', precision: 18, scale: 6 } as const;

/** A type, texts that fit it, and how the value is read back. */
const VALUES: [ColumnType, fc.Arbitrary<[text: string, value: string]>][] = [
  ['integer', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => [String(value), String(value)])],
  [
    decimal,
    fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }).map((value) => {
      const digits = String(value < 0n ? -value : value).padStart(7, '0');
      const written = `${value < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
      return [written, written];
    }),
  ],
  [
    'date',
    fc
      .record({ year: fc.integer({ min: 1, max: 9999 }), day: fc.integer({ min: 0, max: 364 }) })
      .map(({ year, day }) => {
        const written = new Date(new Date(0).setUTCFullYear(year, 0, 1 + day)).toISOString().slice(0, 10);
        return [written, written];
      }),
  ],
  [
    'timestamp',
    fc
      .tuple(
        fc.date({ min: new Date('0002-01-01'), max: new Date('9998-12-31'), noInvalidDate: true }),
        fc.integer({ min: -839, max: 839 }),
      )
      .map(([date, offset]) => {
        const sign = offset < 0 ? '-' : '+';
        const there = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const hours = Math.floor(Math.abs(offset) / 60);
        const minutes = Math.abs(offset) % 60;
        return [`${there}${sign}${twoDigits(hours)}:${twoDigits(minutes)}`, date.toISOString()];
      }),
  ],
  ['boolean', fc.boolean().map((value) => [String(value), String(value)])],
  ['double', fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => [String(value), String(value)])],
];

test.each(VALUES)('reads back every value of the type %j', async (type, value) => {
  const values = fc.array(fc.option(value, { nil: null }), { minLength: 1, maxLength: 200 });

  await fc.assert(
    fc.asyncProperty(values, async (all) => {
      const content = `row,a\n${all.map((one, row) => `${row},${one?.[0] ?? ''}\n`).join('')}`;
      const { misfits } = await putTable(path, { content, settings: { columns: { a: type } } });

      const found = (await rowsIn(path)).map(({ a = null }) => a);
      const numbers = (texts: (string | null)[]) => texts.map((text) => (text === null ? null : Number(text)));
      const expected = all.map((one) => one?.[1] ?? null);
      expect(type === 'double' ? numbers(found) : found).toEqual(
        type === 'double' ? numbers(expected).map((each) => each && each + 0) : expected,
      );
      expect(misfits).toEqual([]);
    }),
    { numRuns: runs(40) },
  );
});

test('any text is a value of the type or a misfit that is counted', async () => {
  const columns = { i: 'integer', n: 'double', b: 'boolean', d: 'date', t: 'timestamp', m: decimal } as const;
  const names = Object.keys(columns);
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789-+.eTZ: '), maxLength: 22 });

  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(text, digits), { minLength: 1, maxLength: 60 }), async (fields) => {
      // A column needs at least one value of its type.
      const fitting = ['1', '1', '1', '2026-11-26', '2026-11-26T02:00Z', '1'];
      const content = csvOf([names, ...fields.map((field) => names.map(() => field)), fitting]);
      const { misfits } = await putTable(path, { content, settings: { columns } });

      const rows = await rowsIn(path);
      const values = names.map((name) => rows.filter((row) => row[name] !== null).length);
      const empty = fields.filter((field) => field === '').length;
      const missed = names.map((name) => misfits.find(({ column }) => column === name)?.count ?? 0);
      expect(values).toEqual(missed.map((count) => 1 + fields.length - empty - count));
    }),
    { numRuns: runs(100) },
  );
});
