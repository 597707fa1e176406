import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ZipFile } from 'yazl';
import type { Encoding } from '../core/file/encoding.ts';
import { streaming } from '../lib/workflow/node-options.ts';
import { inChild, type ProcessCost } from './child.ts';

/** The job of a benchmark process. */
export interface CheckJob {
  /** scan: the pass of PublishFile. csv-parse and DuckDB both read all fields and count records. */
  reader: 'scan' | 'csv-parse' | 'duckdb' | 'packed' | 'sheet';
  file: string;
  encoding?: Encoding | null;
  /** The number of columns of a record. */
  columns: number;
}

export interface CheckReading extends ProcessCost {
  /** The number of records, without the header if the reader recognises one. */
  rows: number;
  /** Name and message of the error if a sheet cannot be read. */
  refused: string | null;
}

/** The default memory of PublishFile. */
export const DEFAULT_MEMORY_MB = 512;

/** Reads a file in a fresh process, with the heap size of the function where the function reads the whole file. */
export function readFile(job: CheckJob): Promise<CheckReading> {
  const asFunction = job.reader === 'packed' || job.reader === 'sheet';
  const env = { ...process.env, ...(asFunction ? streaming(DEFAULT_MEMORY_MB) : {}) };
  return inChild(join(import.meta.dirname, 'check-child.ts'), job, env);
}

/** A file for the benchmark. */
export interface Text {
  id: string;
  what: string;
  /** Whether other programs read the file, too, or only this project's own scan. */
  readers: 'all' | 'ours';
  /** Rare content has no minimum speed. */
  rare?: true;
  encoding: Encoding | null;
  /** The number of cells of a record. */
  columns: number;
  /** A lower minimum speed for this file. */
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

/** Hebrew letters start at 0xe0 in windows-1255. */
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
    columns: 6,
    bytes: csvOf(shortFields, '\n'),
  },
  { id: 'hebrew', what: '7 short fields, Hebrew, UTF-8', ...common, columns: 7, bytes: csvOf(hebrewFields, '\n') },
  { id: 'ascii', what: '10 fields, ASCII, CRLF', ...common, columns: 10, bytes: csvOf(latinFields, '\r\n') },
  {
    id: 'quoted',
    what: '8 fields in quotation marks, line breaks in them',
    ...common,
    columns: 8,
    bytes: csvOf(quotedFields, '\n'),
  },
  {
    id: 'windows-1255',
    what: '7 short fields, Hebrew, windows-1255',
    ...encoded,
    columns: 7,
    bytes: csvOf(hebrewFields, '\r\n', windows1255),
  },
  {
    id: 'utf-16',
    what: '7 short fields, Hebrew, UTF-16',
    ...encoded,
    encoding: 'utf-16le',
    columns: 7,
    bytes: csvOf(hebrewFields, '\r\n', utf16),
  },
  {
    id: 'labels',
    what: '7 fields, of which some are names of columns, the first too',
    ...common,
    columns: 7,
    least: 150,
    bytes: csvOf(labelFields, '\n'),
  },
  {
    id: 'odd',
    what: 'a carriage return alone in a field of every record',
    ...rare,
    columns: 10,
    bytes: csvOf(crInField, '\n'),
  },
  {
    id: 'cr',
    what: 'records that end with a carriage return alone',
    ...rare,
    columns: 10,
    bytes: csvOf(latinFields, '\r'),
  },
];

/** A file whose kind is unknown until it is unpacked. */
export interface Packed {
  id: string;
  what: string;
  /** The content, repeated up to the size. */
  part: Buffer;
}

const PART_BYTES = 1_000_000;
const HEADER = 'customerId,firstName,lastName,phone,city,createdAt,status\n';
const partOf = (id: string) => TEXTS.find((each) => each.id === id)?.bytes(PART_BYTES) ?? Buffer.alloc(0);

export const PACKED: Packed[] = [
  { id: 'gzip', what: 'gzip of 7 short fields, Hebrew, UTF-8', part: partOf('hebrew') },
  { id: 'gzip-quoted', what: 'gzip of 8 fields in quotation marks', part: partOf('quoted') },
  { id: 'gzip-equal', what: 'gzip of equal rows', part: Buffer.alloc(PART_BYTES, '1,דנה,כהן,,,,\n') },
];

/** @returns bytes of the content */
export async function writePacked({ part }: Packed, path: string, size: number): Promise<number> {
  let bytes = 0;
  function* content() {
    for (const piece of [Buffer.from(HEADER), ...Array<Buffer>(Math.ceil(size / part.length)).fill(part)]) {
      bytes += piece.length;
      yield piece;
    }
  }
  await pipeline(Readable.from(content()), createGzip(), createWriteStream(path));
  return bytes;
}

/** A spreadsheet that PublishFile reads to its end. */
export interface Sheet {
  id: string;
  what: string;
  /** Whether texts stand in the cells or are shared by number. Some columns repeat a few texts, others never repeat. */
  texts: 'inline' | 'shared';
}

export const SHEETS: Sheet[] = [
  { id: 'xlsx-inline', what: 'xlsx, 21 columns, texts in the cells', texts: 'inline' },
  { id: 'xlsx-shared', what: 'xlsx, 21 columns, millions of shared texts', texts: 'shared' },
];

const MOST_ROWS = 1_048_575;
export const columnsOf = (count: number) => Array.from({ length: count }, (_, column) => `column${column}`);
export const SHEET_COLUMNS = 21;
const COLUMNS = columnsOf(SHEET_COLUMNS);

/** Every third column has a number, one a date, the others texts: half of them repeat a few, half never repeat. */
function textOf(row: number, column: number): string {
  return column % 2 === 0 ? `${NAMES[row % 5]} ${column}` : `person${row}.${column}@example.com`;
}

/** Columns whose texts never repeat. */
const DIFFERENT = COLUMNS.flatMap((_, column) => (column % 3 > 0 && column % 2 === 1 ? [column] : []));
const FEW = 5 * COLUMNS.length;

/** @returns bytes of the content */
export async function writeSheet({ texts }: Sheet, path: string, size: number): Promise<number> {
  const rows = Math.min(MOST_ROWS, Math.floor(size / (texts === 'shared' ? 1100 : 1200)));
  return writeParts(path, sheetXml(rows, texts), texts === 'shared' ? sharedXml(rows) : undefined);
}

/** A workbook of one sheet. @returns bytes of the content */
export async function writeParts(path: string, sheet: Iterable<string>, shared?: Iterable<string>): Promise<number> {
  const related = [
    ['r1', 'worksheet', 'worksheets/sheet1.xml'],
    ['r2', 'styles', 'styles.xml'],
    ...(shared ? [['r3', 'sharedStrings', 'sharedStrings.xml']] : []),
  ];
  const parts: [name: string, content: Iterable<string>][] = [
    ['[Content_Types].xml', [contentTypes()]],
    ['_rels/.rels', [relationships(['r1', 'officeDocument', 'xl/workbook.xml'])]],
    ['xl/workbook.xml', [`<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`]],
    ['xl/styles.xml', ['<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>']],
    ['xl/_rels/workbook.xml.rels', [relationships(...related)]],
    ['xl/worksheets/sheet1.xml', sheet],
    ...(shared ? [['xl/sharedStrings.xml', shared] satisfies [string, Iterable<string>]] : []),
  ];
  const zip = new ZipFile();
  let bytes = 0;
  function* counted(content: Iterable<string>) {
    for (const text of content) {
      const piece = Buffer.from(text);
      bytes += piece.length;
      yield piece;
    }
  }
  for (const [name, content] of parts) {
    zip.addReadStream(Readable.from(counted(content)), name, { compressionLevel: 1 });
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return bytes;
}

function* sheetXml(rows: number, texts: Sheet['texts']): Generator<string> {
  const header = COLUMNS.map((name) => `<c t="inlineStr"><is><t>${name}</t></is></c>`);
  yield `<?xml version="1.0"?><worksheet><sheetData><row r="1">${header.join('')}</row>`;
  for (let row = 2; row <= rows + 1; row += 1) {
    let xml = `<row r="${row}" spans="1:${COLUMNS.length}">`;
    for (let column = 0; column < COLUMNS.length; column += 1) xml += cellXml(row, column, texts);
    yield `${xml}</row>`;
  }
  yield '</sheetData></worksheet>';
}

function cellXml(row: number, column: number, texts: Sheet['texts']): string {
  const place = `${String.fromCharCode(65 + column)}${row}`;
  if (column === 18) return `<c r="${place}" s="1"><v>${40_000 + (row % 5000)}</v></c>`;
  if (column % 3 === 0) return `<c r="${place}"><v>${row * 3.57}</v></c>`;
  if (texts === 'inline') return `<c r="${place}" t="inlineStr"><is><t>${textOf(row, column)}</t></is></c>`;
  const few = (row % 5) * COLUMNS.length + column;
  const different = FEW + (row - 2) * DIFFERENT.length + DIFFERENT.indexOf(column);
  return `<c r="${place}" t="s"><v>${column % 2 === 0 ? few : different}</v></c>`;
}

function* sharedXml(rows: number): Generator<string> {
  yield '<?xml version="1.0"?><sst>';
  for (let row = 0; row < 5; row += 1)
    yield COLUMNS.map((_, column) => `<si><t>${textOf(row, column - (column % 2))}</t></si>`).join('');
  for (let row = 2; row <= rows + 1; row += 1) {
    const own = DIFFERENT.map((column) => textOf(row, column));
    yield own.map((text) => `<si><t>${text}</t></si>`).join('');
  }
  yield '</sst>';
}

function contentTypes(): string {
  const overrides = [
    ['xl/workbook.xml', 'sheet.main'],
    ['xl/styles.xml', 'styles'],
  ].map(
    ([part, type]) =>
      `<Override PartName="/${part}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`,
  );
  return `<Types><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${overrides.join('')}</Types>`;
}

function relationships(...all: string[][]): string {
  const listed = all.map(([id, type, target]) => `<Relationship Id="${id}" Type="/${type}" Target="${target}"/>`);
  return `<Relationships>${listed.join('')}</Relationships>`;
}
