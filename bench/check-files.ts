import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { streaming } from '../lib/workflow/node-options.ts';
import { inChild, type ProcessCost } from './child.ts';
import { columnNames, NAMES } from './csv-files.ts';

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

export const SHEET_COLUMNS = 21;
const MOST_ROWS = 1_048_575;
const COLUMNS = columnNames(SHEET_COLUMNS);
/** Of three columns, the first has numbers, the second texts that never repeat, the third texts of which some repeat. */
const kindOf = (column: number) => (['number', 'different', 'repeated'] as const)[column % 3];
const DIFFERENT = COLUMNS.flatMap((_, column) => (kindOf(column) === 'different' ? [column] : []));
const differentText = (row: number, column: number) => `person${row}.${column}@example.com`;

/** A spreadsheet with texts in its cells, and millions that are shared by number. @returns bytes of the content */
export async function writeSheet(path: string, size: number): Promise<number> {
  const rows = Math.min(MOST_ROWS, Math.floor(size / 1200));
  return writeParts(path, sheetXml(rows), sharedXml(rows));
}

function* sheetXml(rows: number): Generator<string> {
  const header = COLUMNS.map((name) => `<c t="inlineStr"><is><t>${name}</t></is></c>`);
  yield `<?xml version="1.0"?><worksheet><sheetData><row r="1">${header.join('')}</row>`;
  for (let row = 2; row <= rows + 1; row += 1) {
    const cells = COLUMNS.map((_, column) => cellXml(row, column));
    yield `<row r="${row}" spans="1:${COLUMNS.length}">${cells.join('')}</row>`;
  }
  yield '</sheetData></worksheet>';
}

function cellXml(row: number, column: number): string {
  const place = `${String.fromCharCode(65 + column)}${row}`;
  const kind = kindOf(column);
  // Style 1 is a date.
  if (column === 18) return `<c r="${place}" s="1"><v>${40_000 + (row % 5000)}</v></c>`;
  if (kind === 'number') return `<c r="${place}"><v>${row * 3.57}</v></c>`;
  if (kind === 'different')
    return `<c r="${place}" t="s"><v>${(row - 2) * DIFFERENT.length + DIFFERENT.indexOf(column)}</v></c>`;
  return `<c r="${place}" t="inlineStr"><is><t>${NAMES[row % 5]} ${column}</t></is></c>`;
}

function* sharedXml(rows: number): Generator<string> {
  yield '<?xml version="1.0"?><sst>';
  for (let row = 2; row <= rows + 1; row += 1)
    yield DIFFERENT.map((column) => `<si><t>${differentText(row, column)}</t></si>`).join('');
  yield '</sst>';
}

const relationships = (targets: Record<string, string>) => {
  const all = Object.entries(targets).map(
    ([type, to]) => `<Relationship Id="${type}" Type="/${type}" Target="${to}"/>`,
  );
  return `<Relationships>${all.join('')}</Relationships>`;
};

/** Writes a workbook of one sheet. @returns bytes of the sheet and the shared texts */
export async function writeParts(path: string, sheet: Iterable<string>, shared?: Iterable<string>): Promise<number> {
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  const overrides = ['workbook', 'styles'].map((part) => {
    return `<Override PartName="/xl/${part}.xml" ContentType="${type}.${part.replace('workbook', 'sheet.main')}+xml"/>`;
  });
  const targets = { worksheet: 'worksheets/sheet1.xml', styles: 'styles.xml' };
  const small = {
    '[Content_Types].xml': `<Types><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${overrides.join('')}</Types>`,
    '_rels/.rels': relationships({ officeDocument: 'xl/workbook.xml' }),
    'xl/workbook.xml':
      '<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="worksheet"/></sheets></workbook>',
    'xl/styles.xml': '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    'xl/_rels/workbook.xml.rels': relationships(shared ? { ...targets, sharedStrings: 'sharedStrings.xml' } : targets),
  };
  const zip = new ZipFile();
  for (const [name, text] of Object.entries(small)) zip.addBuffer(Buffer.from(text), name);
  let bytes = 0;
  function* counted(texts: Iterable<string>) {
    for (const text of texts) {
      const buffer = Buffer.from(text);
      bytes += buffer.length;
      yield buffer;
    }
  }
  const large = { 'xl/worksheets/sheet1.xml': sheet, ...(shared && { 'xl/sharedStrings.xml': shared }) };
  for (const [name, texts] of Object.entries(large)) {
    zip.addReadStream(Readable.from(counted(texts)), name, { compressionLevel: 1 });
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return bytes;
}
