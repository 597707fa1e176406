import type { Encoding } from '../../core/file/encoding.ts';

/** A file that is read. */
export interface Text {
  id: string;
  what: string;
  /** What other programs read too, or only this project's own scan. */
  readers: 'all' | 'ours';
  /** Such content is rare: no least speed is aimed at. */
  rare?: true;
  encoding: Encoding | null;
  /** Cells of a record. */
  width: number;
  /** A slower reading is enough. */
  least?: number;
  bytes: (size: number) => Buffer;
}

const NAMES = ['דוד', 'שרה', 'משה', 'רחל', 'יעל'];
const CITIES = ['תל אביב', 'חיפה', 'ירושלים', 'באר שבע'];

const hebrewRow = (row: number) => [
  ...[String(row), NAMES[row % 5], CITIES[row % 4], `05${(row * 7919) % 100_000_000}`],
  ...[`2026-11-${10 + (row % 20)}`, row % 3 ? 'active' : '', String(row * 3.5)],
];
const latinRow = (row: number) => [
  ...[String(row), `name${row % 977}`, `person${row}@example.com`, `05${(row * 7919) % 100_000_000}`, 'Street 12'],
  ...[`2026-11-${10 + (row % 20)}T08:00:00Z`, row % 3 ? 'active' : '', '', String(row * 3.5), 'A remark of some words'],
];
const quoted = (cell: unknown) => `"${String(cell).replaceAll('"', '""')}"`;

/** A file of as many rows as fit into the size. */
function csvOf(row: (place: number) => string, lineBreak: string, encode = (text: string) => Buffer.from(text)) {
  return (size: number) => {
    const rows = Array.from({ length: 20_000 }, (_, place) => `${row(place)}${lineBreak}`);
    const part = encode(rows.join(''));
    return Buffer.concat(Array(Math.ceil(size / part.length)).fill(part));
  };
}

/** Hebrew letters stand at 0xe0 in windows-1255. */
const windows1255 = (text: string) =>
  Buffer.from(
    text.replaceAll(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0)),
    'latin1',
  );

const utf16 = (text: string) => Buffer.from(text, 'utf16le');

const shortFields = (row: number) => `${row % 97},${NAMES[row % 5]},${row % 7},,${'x'.repeat(row % 5)},"א${row % 11}"`;
const hebrewFields = (row: number) => hebrewRow(row).join(',');
const latinFields = (row: number) => latinRow(row).join(',');
const quotedFields = (row: number) =>
  [...hebrewRow(row), row % 5 ? 'short' : 'a "remark",\nin two lines'].map(quoted).join(',');
const crInField = (row: number) => latinFields(row).replace('Street', 'Street\r');

const labelFields = (row: number) =>
  ['Email', NAMES[row % 5], 'status', CITIES[row % 4], row * 7919, row % 3 ? 'active' : '', 'a remark'].join(',');

const common = { readers: 'all', encoding: 'utf-8' } as const;
const encoded = { readers: 'ours', encoding: null } as const;
const rare = { readers: 'ours', rare: true, encoding: 'utf-8' } as const;

export const TEXTS: Text[] = [
  {
    id: 'short',
    what: '6 fields of 0 to 6 bytes, Hebrew, UTF-8',
    ...common,
    width: 6,
    bytes: csvOf(shortFields, '\n'),
  },
  { id: 'hebrew', what: '7 short fields, Hebrew, UTF-8', ...common, width: 7, bytes: csvOf(hebrewFields, '\n') },
  { id: 'ascii', what: '10 fields, ASCII, CRLF', ...common, width: 10, bytes: csvOf(latinFields, '\r\n') },
  {
    id: 'quoted',
    what: '8 fields in quotation marks, line breaks in them',
    ...common,
    width: 8,
    bytes: csvOf(quotedFields, '\n'),
  },
  {
    id: 'windows-1255',
    what: '7 short fields, Hebrew, windows-1255',
    ...encoded,
    width: 7,
    bytes: csvOf(hebrewFields, '\r\n', windows1255),
  },
  {
    id: 'utf-16',
    what: '7 short fields, Hebrew, UTF-16',
    ...encoded,
    encoding: 'utf-16le',
    width: 7,
    bytes: csvOf(hebrewFields, '\r\n', utf16),
  },
  {
    id: 'labels',
    what: '7 fields, of which some are names of columns, the first too',
    ...common,
    width: 7,
    least: 150,
    bytes: csvOf(labelFields, '\n'),
  },
  {
    id: 'odd',
    what: 'a carriage return alone in a field of every record',
    ...rare,
    width: 10,
    bytes: csvOf(crInField, '\n'),
  },
  {
    id: 'cr',
    what: 'records that end with a carriage return alone',
    ...rare,
    width: 10,
    bytes: csvOf(latinFields, '\r'),
  },
];
