import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { encodedAs } from '../../support/encoded.ts';
import { runs } from '../../support/runs.ts';
import { workbookFile, workbookOf } from '../../support/workbook.ts';
import { zipOfTexts } from '../../support/zip.ts';
import { type Published, placeForTables, putTable, rowsIn } from './support.ts';

const HEADER = ['id', 'branch', 'name', 'sum', 'day', 'at', 'active', 'score', 'updatedAt'];
const COLUMNS: TableSettings['columns'] = {
  sum: { type: 'decimal', precision: 18, scale: 2 },
  day: 'date',
  at: 'timestamp',
  active: 'boolean',
  score: 'double',
};
type Row = string[];

const texts = fc.constantFrom(
  ...['', 'א', 'שלום', 'ab', 'a', 'b', '😀', 'NULL', ' a ', 'a, b; c|d\te', '"', 'a "b"', 'a\nb', "'a", '&<>'],
  'a long text of more than twenty-four letters',
);
const row: fc.Arbitrary<Row> = fc.tuple(
  fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }).map(String) }, texts),
  fc.constantFrom('1', '2', ''),
  texts,
  fc.constantFrom('', '1', '1.00', '-0.01', '9999999999999999.99'),
  fc.constantFrom('', '2026-11-22', '1950-01-01'),
  fc.constantFrom('', '2026-11-22T08:00:00Z', '2026-11-22T10:00:00+02:00', '1969-12-31T23:59:59.999Z'),
  fc.constantFrom('', 'true', 'false'),
  fc.constantFrom('', '0', '-0', '1e300', '0.1'),
  texts,
);
/** The form of a file. */
interface Form {
  kind: 'csv' | 'xlsx';
  separator: ',' | ';' | '\t' | '|';
  lineBreak: 'lf' | 'crlf' | 'cr';
  /** Whether all fields are quoted, or only those that need quotes. */
  quoted: boolean;
  encoding: 'utf-8' | 'utf-8 with its mark' | 'utf-16le' | 'utf-16be' | 'windows-1255';
  compression: 'gzip' | 'zip' | null;
}

const PLAIN: Form = {
  kind: 'csv',
  separator: ',',
  lineBreak: 'lf',
  quoted: false,
  encoding: 'utf-8',
  compression: null,
};

const forms: fc.Arbitrary<Form> = fc.record({
  kind: fc.constantFrom('csv', 'csv', 'csv', 'xlsx'),
  separator: fc.constantFrom(',', ';', '\t', '|'),
  lineBreak: fc.constantFrom('lf', 'crlf', 'cr'),
  quoted: fc.boolean(),
  encoding: fc.constantFrom('utf-8', 'utf-8 with its mark', 'utf-16le', 'utf-16be', 'windows-1255'),
  compression: fc.constantFrom(null, null, 'gzip', 'zip'),
});

const BREAKS = { lf: '\n', crlf: '\r\n', cr: '\r' };

/** A file in that form, and its description in the manifest. */
async function publishedAs(rows: Row[], form: Form): Promise<Published> {
  const { content, file } = form.kind === 'xlsx' ? await sheetOf(rows) : csvOf(rows, form);
  const settings = { columns: COLUMNS };
  const { compression } = form;
  const name = form.kind === 'xlsx' ? 'leads.xlsx' : 'leads.csv';
  if (compression === null) return { content, file, settings };
  const packed = compression === 'gzip' ? gzipSync(content) : zipOfTexts({ [name]: content });
  return { content: packed, file: { ...file, compression }, settings };
}

/** Whole numbers are numeric cells, as programs write them. */
async function sheetOf(rows: Row[]) {
  const cell = (text: string) => (/^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text === '' ? null : text);
  const content = workbookOf(HEADER, ...rows.map((row) => row.map(cell)));
  return { content, file: await workbookFile(content, HEADER) };
}

function csvOf(rows: Row[], { separator, lineBreak, quoted, encoding }: Form) {
  const needed = (field: string) => quoted || /["\r\n]/.test(field) || field.includes(separator);
  const written = (field: string) => (needed(field) ? `"${field.replaceAll('"', '""')}"` : field);
  const text = [HEADER, ...rows].map((row) => row.map(written).join(separator) + BREAKS[lineBreak]).join('');
  // windows-1255 has only Hebrew letters besides ASCII.
  const possible = encoding !== 'windows-1255' || /^[\0-~א-ת]*$/.test(text);
  const as = possible ? encoding : 'utf-8';
  const byteOrderMark = as !== 'utf-8' && as !== 'windows-1255';
  const dialect = {
    ...{ separator, lineBreak, byteOrderMark },
    encoding: as === 'utf-8 with its mark' ? ('utf-8' as const) : as,
  };
  const content = encodedAs(byteOrderMark ? `\uFEFF${text}` : text, dialect.encoding);
  return { content, file: { header: HEADER, dialect } };
}

const { dir, path } = await placeForTables();

test('a file gives the same table in any dialect, encoding, compression and format', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), forms, async (rows, form) => {
      seen.add(`${form.kind} ${form.compression}`).add(form.encoding);
      const plain = join(dir, 'plain.parquet');
      await putTable(plain, await publishedAs(rows, PLAIN));

      await putTable(path, await publishedAs(rows, form));

      expect(await rowsIn(path)).toEqual(await rowsIn(plain));
    }),
    { numRuns: runs(1000) },
  );
  expect(seen.size).toBe(11);
});
