import { closeSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { TableSettings } from '../core/config/table-settings.ts';
import { crc32Text } from '../transfer/base/crc32.ts';

/** The made-up CSV files of the benchmarks. */

export interface CsvFile {
  header: string[];
  row: (place: number) => unknown[];
  lineBreak?: string;
  encode?: (text: string) => Buffer;
}

/** Writes rows up to the given size. */
export function writeCsv({ header, row, lineBreak = '\n', encode = Buffer.from }: CsvFile, path: string, size: number) {
  const descriptor = openSync(path, 'w');
  let bytes = 0;
  let crc = 0;
  const write = (rows: unknown[][]) => {
    const part = encode(rows.map((cells) => `${cells.join(',')}${lineBreak}`).join(''));
    crc = crc32(part, crc);
    bytes += writeSync(descriptor, part);
  };
  write([header]);
  for (let at = 0; bytes < size; at += 500) write(Array.from({ length: 500 }, (_, place) => row(at + place)));
  closeSync(descriptor);
  return { path, bytes, crc32: crc32Text(crc), header };
}

/** The names of the columns of a file that has no other names. */
export const columnNames = (count: number) => Array.from({ length: count }, (_, column) => `column${column}`);

export const NAMES = ['דוד', 'שרה', 'משה', 'רחל', 'יעל'];
const CITIES = ['תל אביב', 'חיפה', 'ירושלים', 'באר שבע'];
const two = (value: number) => String(value).padStart(2, '0');
const scattered = (row: number) => (row * 2_654_435_761) % 4_294_967_296;

/** Rows of 190 bytes: 1 GB has more than five million keys. */
export const CUSTOMERS: CsvFile = {
  header: [
    ...['id', 'firstName', 'lastName', 'phone', 'email', 'createdAt', 'birthDate', 'sum', 'status', 'city'],
    ...['street', 'zip', 'source', 'score', 'active', 'updatedAt', 'reference'],
  ],
  row: (row) => [
    ...[row, NAMES[row % 5], `כהן ${row % 977}`, `05${scattered(row) % 100_000_000}`, `person${row}@example.com`],
    ...[`2026-11-${10 + (row % 20)}T08:${two(row % 60)}:00Z`, `19${50 + (row % 50)}-0${1 + (row % 9)}-1${row % 10}`],
    ...[(scattered(row) % 1e6) / 100, row % 3 ? 'active' : '', CITIES[row % 4], `"Street ${row % 300}, floor 2"`],
    ...[10_000 + (row % 90_000), 'web', row % 100, row % 2 === 0, `2026-11-${10 + (row % 20)} 09:11:12.123`],
    scattered(row).toString(16),
  ],
};

/** Types for eight columns of `CUSTOMERS`. The other columns are text. */
export const TYPES: TableSettings['columns'] = {
  id: 'integer',
  createdAt: 'timestamp',
  birthDate: 'date',
  sum: { type: 'decimal', precision: 12, scale: 2 },
  zip: 'integer',
  score: 'double',
  active: 'boolean',
  updatedAt: 'timestamp',
};

const FIELDS = columnNames(1000);

export const WIDE: CsvFile = {
  header: FIELDS,
  row: (row) => FIELDS.map((_, place) => (place % 3 ? (row * place) % 977 : '')),
};

/** The rows of the next night, in another order. Of a thousand rows, five are removed, five added and ten changed. */
export function nextNight({ header, row }: CsvFile): CsvFile {
  const changedRow = (place: number) => {
    const swapped = place ^ 1;
    const fate = (swapped * 7919) % 1000;
    const [id, ...rest] = row(swapped);
    if (fate < 5) return [1e9 + swapped, ...rest];
    return fate < 15 ? [id, ...rest.slice(0, -1), 'changed'] : [id, ...rest];
  };
  return { header, row: changedRow };
}

const hebrewRow = (row: number) => [
  ...[row, NAMES[row % 5], CITIES[row % 4], `05${(row * 7919) % 100_000_000}`],
  ...[`2026-11-${10 + (row % 20)}`, row % 3 ? 'active' : '', row * 3.5],
];
const latinRow = (row: number) => [
  ...[row, `name${row % 977}`, `person${row}@example.com`, `05${(row * 7919) % 100_000_000}`, 'Street 12'],
  ...[`2026-11-${10 + (row % 20)}T08:00:00Z`, row % 3 ? 'active' : '', '', row * 3.5, 'A remark of some words'],
];
const shortRow = (row: number) => [row % 97, NAMES[row % 5], row % 7, '', 'x'.repeat(row % 5), `"א${row % 11}"`];
const quotedRow = (row: number) =>
  [...hebrewRow(row), row % 5 ? 'short' : 'a ""remark"",\nin two lines'].map((cell) => `"${cell}"`);
const labelsRow = (row: number) => [
  ...['Column1', NAMES[row % 5], 'column2', CITIES[row % 4], row * 7919, row % 3 ? 'active' : '', 'a remark'],
];

/** Hebrew letters start at 0xe0 in windows-1255. */
const windows1255 = (text: string) =>
  Buffer.from(
    text.replaceAll(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0)),
    'latin1',
  );
const utf16 = (text: string) => Buffer.from(text, 'utf16le');

const named = (row: CsvFile['row'], more: Omit<CsvFile, 'header' | 'row'> = {}): CsvFile => {
  return { header: columnNames(row(0).length), row, ...more };
};

/** Records of 8 fields in quotation marks, some with line breaks. */
export const QUOTED = named(quotedRow);

/** The texts that PublishFile reads. */
export const TEXTS = {
  short: named(shortRow),
  hebrew: named(hebrewRow),
  ascii: named(latinRow, { lineBreak: '\r\n' }),
  quoted: QUOTED,
  'windows-1255': named(hebrewRow, { lineBreak: '\r\n', encode: windows1255 }),
  'utf-16': named(hebrewRow, { lineBreak: '\r\n', encode: utf16 }),
  labels: named(labelsRow),
};
