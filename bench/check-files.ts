import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ZipFile } from 'yazl';
import { streaming } from '../lib/workflow/node-options.ts';
import { inChild, type ProcessCost } from './child.ts';

/** The job of a benchmark process. */
export interface CheckJob {
  /** `publish` is the pass of PublishFile. csv-parse and DuckDB both read all fields and count records. */
  reader: 'publish' | 'csv-parse' | 'duckdb';
  file: string;
  /** The number of columns of a record. */
  columns: number;
}

export interface CheckReading extends ProcessCost {
  /** The number of records, without the header. Null if the pass cannot count them. */
  rows: number | null;
  /** The message of the error if the file cannot be read. */
  refused: string | null;
}

/** The default memory of PublishFile. */
export const DEFAULT_MEMORY_MB = 512;

/** Reads a file in a fresh process, PublishFile's pass with the heap size of the function. */
export function readFile(job: CheckJob): Promise<CheckReading> {
  const env = { ...process.env, ...(job.reader === 'publish' ? streaming(DEFAULT_MEMORY_MB) : {}) };
  return inChild(join(import.meta.dirname, 'check-child.ts'), job, env);
}

/** The names of the columns of every file. */
export const columnNames = (count: number) => Array.from({ length: count }, (_, column) => `column${column}`);

/** A CSV file for the benchmark. */
export interface Text {
  id: string;
  what: string;
  /** Whether the other programs cannot read its encoding. */
  ours?: true;
  columns: number;
  /** A lower minimum speed for this file. */
  least?: number;
  bytes: (size: number) => Buffer;
}

const NAMES = ['דוד', 'שרה', 'משה', 'רחל', 'יעל'];
const CITIES = ['תל אביב', 'חיפה', 'ירושלים', 'באר שבע'];

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

/** A file of at least the size: a header and repeated rows. */
function csvOf(row: (place: number) => unknown[], lineBreak = '\n', encode = (text: string) => Buffer.from(text)) {
  return (size: number) => {
    const rows = Array.from({ length: 20_000 }, (_, place) => `${row(place).join(',')}${lineBreak}`);
    const part = encode(rows.join(''));
    const header = encode(`${columnNames(row(0).length).join(',')}${lineBreak}`);
    return Buffer.concat([header, ...Array(Math.ceil(size / part.length)).fill(part)]);
  };
}

/** Hebrew letters start at 0xe0 in windows-1255. */
const windows1255 = (text: string) =>
  Buffer.from(
    text.replaceAll(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0)),
    'latin1',
  );
const utf16 = (text: string) => Buffer.from(text, 'utf16le');

const HEBREW: Text = {
  id: 'hebrew',
  what: '7 short fields, Hebrew, UTF-8',
  columns: 7,
  bytes: csvOf(hebrewRow),
};

const QUOTED: Text = {
  id: 'quoted',
  what: '8 fields in quotation marks, line breaks in them',
  columns: 8,
  bytes: csvOf(quotedRow),
};

export const TEXTS: Text[] = [
  { id: 'short', what: '6 fields of 0 to 6 bytes, Hebrew, UTF-8', columns: 6, bytes: csvOf(shortRow) },
  HEBREW,
  { id: 'ascii', what: '10 fields, ASCII, CRLF', columns: 10, bytes: csvOf(latinRow, '\r\n') },
  QUOTED,
  {
    ...HEBREW,
    ...{ id: 'windows-1255', what: '7 short fields, Hebrew, windows-1255', ours: true },
    bytes: csvOf(hebrewRow, '\r\n', windows1255),
  },
  {
    ...HEBREW,
    ...{ id: 'utf-16', what: '7 short fields, Hebrew, UTF-16', ours: true },
    bytes: csvOf(hebrewRow, '\r\n', utf16),
  },
  {
    ...{ id: 'labels', what: '7 fields, of which some are names of columns, the first too', least: 150 },
    ...{ columns: 7, bytes: csvOf(labelsRow) },
  },
];

/** Texts that are measured packed as well. Equal rows unpack to the most content for their packed bytes. */
export const PACKED: Text[] = [
  { ...HEBREW, id: 'gzip', what: 'gzip of 7 short fields, Hebrew, UTF-8' },
  { ...QUOTED, id: 'gzip-quoted', what: 'gzip of 8 fields in quotation marks' },
  { ...HEBREW, id: 'gzip-equal', what: 'gzip of equal rows', bytes: csvOf(() => hebrewRow(1)) },
];

/** @returns bytes of the content */
export async function writeGzip(text: Text, path: string, size: number): Promise<number> {
  const header = text.bytes(0);
  const part = text.bytes(1).subarray(header.length);
  const { content, bytes } = counted([header, ...Array<Buffer>(Math.ceil(size / part.length)).fill(part)]);
  await pipeline(content, createGzip(), createWriteStream(path));
  return bytes();
}

/** A stream of the pieces, and the number of bytes that were read from it. */
function counted(pieces: Iterable<string | Buffer>) {
  let bytes = 0;
  function* content() {
    for (const piece of pieces) {
      const buffer = Buffer.from(piece);
      bytes += buffer.length;
      yield buffer;
    }
  }
  return { content: Readable.from(content()), bytes: () => bytes };
}

/** A spreadsheet of 21 columns. Half of the texts repeat a few; the others never repeat and may be shared by number. */
export const SHEETS = [
  { id: 'xlsx-inline', what: 'xlsx, 21 columns, texts in the cells', texts: 'inline' },
  { id: 'xlsx-shared', what: 'xlsx, 21 columns, millions of shared texts', texts: 'shared' },
] as const;
export const SHEET_COLUMNS = 21;

type Texts = (typeof SHEETS)[number]['texts'];

const MOST_ROWS = 1_048_575;
const COLUMNS = columnNames(SHEET_COLUMNS);
const isNumber = (column: number) => column % 3 === 0;
/** Columns whose texts never repeat. */
const DIFFERENT = COLUMNS.flatMap((_, column) => (!isNumber(column) && column % 2 === 1 ? [column] : []));
const differentText = (row: number, column: number) => `person${row}.${column}@example.com`;

/** @returns bytes of the content */
export async function writeSheet(texts: Texts, path: string, size: number): Promise<number> {
  const rows = Math.min(MOST_ROWS, Math.floor(size / 1200));
  return writeParts(path, sheetXml(rows, texts), texts === 'shared' ? sharedXml(rows) : undefined);
}

function* sheetXml(rows: number, texts: Texts): Generator<string> {
  const header = COLUMNS.map((name) => `<c t="inlineStr"><is><t>${name}</t></is></c>`);
  yield `<?xml version="1.0"?><worksheet><sheetData><row r="1">${header.join('')}</row>`;
  for (let row = 2; row <= rows + 1; row += 1) {
    const cells = COLUMNS.map((_, column) => cellXml(row, column, texts));
    yield `<row r="${row}" spans="1:${COLUMNS.length}">${cells.join('')}</row>`;
  }
  yield '</sheetData></worksheet>';
}

function cellXml(row: number, column: number, texts: Texts): string {
  const place = `${String.fromCharCode(65 + column)}${row}`;
  if (column === 18) return `<c r="${place}" s="1"><v>${40_000 + (row % 5000)}</v></c>`;
  if (isNumber(column)) return `<c r="${place}"><v>${row * 3.57}</v></c>`;
  const different = DIFFERENT.indexOf(column);
  if (texts === 'shared' && different >= 0)
    return `<c r="${place}" t="s"><v>${(row - 2) * DIFFERENT.length + different}</v></c>`;
  const text = different < 0 ? `${NAMES[row % 5]} ${column}` : differentText(row, column);
  return `<c r="${place}" t="inlineStr"><is><t>${text}</t></is></c>`;
}

function* sharedXml(rows: number): Generator<string> {
  yield '<?xml version="1.0"?><sst>';
  for (let row = 2; row <= rows + 1; row += 1)
    yield DIFFERENT.map((column) => `<si><t>${differentText(row, column)}</t></si>`).join('');
  yield '</sst>';
}

const RELATED = 'http://schemas.openxmlformats.org/package/2006/relationships';
const relationships = (...targets: [type: string, target: string][]) => {
  const all = targets.map(([type, target]) => `<Relationship Id="${type}" Type="/${type}" Target="${target}"/>`);
  return `<Relationships xmlns="${RELATED}">${all.join('')}</Relationships>`;
};

/** Writes a workbook of one sheet. @returns bytes of the content */
export async function writeParts(path: string, sheet: Iterable<string>, shared?: Iterable<string>): Promise<number> {
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  const parts: Record<string, Iterable<string>> = {
    '[Content_Types].xml': [
      '<Types><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
      `<Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>`,
      `<Override PartName="/xl/styles.xml" ContentType="${type}.styles+xml"/></Types>`,
    ],
    '_rels/.rels': [relationships(['officeDocument', 'xl/workbook.xml'])],
    'xl/workbook.xml': [
      '<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="worksheet"/></sheets></workbook>',
    ],
    'xl/styles.xml': ['<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'],
    'xl/_rels/workbook.xml.rels': [
      relationships(
        ...[['worksheet', 'worksheets/sheet1.xml'] as [string, string], ['styles', 'styles.xml'] as [string, string]],
        ...(shared ? [['sharedStrings', 'sharedStrings.xml'] as [string, string]] : []),
      ),
    ],
    'xl/worksheets/sheet1.xml': sheet,
    ...(shared && { 'xl/sharedStrings.xml': shared }),
  };
  const zip = new ZipFile();
  const all = Object.entries(parts).map(([name, part]) => ({ name, ...counted(part) }));
  for (const { name, content } of all) zip.addReadStream(content, name, { compressionLevel: 1 });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return all.reduce((sum, { bytes }) => sum + bytes(), 0);
}
