import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { streaming } from '../lib/workflow/node-options.ts';
import { inChild } from './child.ts';
import { columnNames, NAMES } from './csv-files.ts';

/** The job of a benchmark process. */
export interface CheckJob {
  /** `publish` is the pass of PublishFile. csv-parse and DuckDB both read all fields and count records. */
  reader: 'publish' | 'csv-parse' | 'duckdb';
  file: string;
  /** The number of columns of a record. */
  columns: number;
}

export interface CheckReading {
  /** The number of records, without the header. Null if the pass cannot count them. */
  rows: number | null;
  /** The message of the error if the file cannot be read. */
  refused: string | null;
}

/** The default memory of PublishFile. */
export const DEFAULT_MEMORY_MB = 512;

/** Reads a file in a fresh process, PublishFile's pass with the heap size of the function. */
export function readFile(job: CheckJob) {
  const env = { ...process.env, ...(job.reader === 'publish' ? streaming(DEFAULT_MEMORY_MB) : {}) };
  return inChild<CheckReading>(join(import.meta.dirname, 'check-child.ts'), job, env);
}

const MOST_ROWS = 1_048_575;
/** Of three columns, the first has numbers, the second texts that never repeat, the third texts of which some repeat. */
const THIRDS = Array.from({ length: 7 }, (_, third) => third);
export const SHEET_COLUMNS = 3 * THIRDS.length;

/** A spreadsheet with texts in its cells, and millions of shared texts. @returns bytes of the content */
export async function writeSheet(path: string, size: number): Promise<number> {
  const rows = Math.min(MOST_ROWS, Math.floor(size / 1200));
  return writeParts(path, sheetXml(rows), sharedXml(rows));
}

const inline = (text: string) => `t="inlineStr"><is><t>${text}</t></is></c>`;

function* sheetXml(rows: number): Generator<string> {
  yield `<worksheet><sheetData><row r="1">${columnNames(SHEET_COLUMNS)
    .map((name) => `<c ${inline(name)}`)
    .join('')}</row>`;
  for (let row = 2; row <= rows + 1; row += 1) {
    const cells = THIRDS.map((third) => {
      const [first, second, last] = [0, 1, 2].map((at) => `<c r="${String.fromCharCode(65 + 3 * third + at)}${row}"`);
      const shared = `${second} t="s"><v>${(row - 2) * THIRDS.length + third}</v></c>`;
      return `${first}><v>${row * 3.57}</v></c>${shared}${last} ${inline(`${NAMES[row % 5]} ${third}`)}`;
    });
    yield `<row r="${row}" spans="1:${SHEET_COLUMNS}">${cells.join('')}</row>`;
  }
  yield '</sheetData></worksheet>';
}

function* sharedXml(rows: number): Generator<string> {
  yield '<sst>';
  for (let row = 2; row <= rows + 1; row += 1)
    yield THIRDS.map((third) => `<si><t>person${row}.${third}@example.com</t></si>`).join('');
  yield '</sst>';
}

/** The parts of a workbook beside its sheet and texts. */
const PARTS = {
  '[Content_Types].xml':
    '<Types><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
  '_rels/.rels':
    '<Relationships><Relationship Id="r" Type="/officeDocument" Target="xl/workbook.xml"/></Relationships>',
  'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels':
    '<Relationships><Relationship Id="r1" Type="/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
};

/** Writes a workbook of one sheet. @returns bytes of the sheet and the shared texts */
export async function writeParts(path: string, sheet: Iterable<string>, shared: Iterable<string> = ['<sst/>']) {
  const zip = new ZipFile();
  for (const [name, text] of Object.entries(PARTS)) zip.addBuffer(Buffer.from(text), name);
  let bytes = 0;
  function* counted(texts: Iterable<string>) {
    for (const text of texts) {
      const buffer = Buffer.from(text);
      bytes += buffer.length;
      yield buffer;
    }
  }
  for (const [name, texts] of Object.entries({ 'worksheets/sheet1': sheet, sharedStrings: shared })) {
    zip.addReadStream(Readable.from(counted(texts)), `xl/${name}.xml`, { compressionLevel: 1 });
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return bytes;
}
