import { join } from 'node:path';
import { streaming } from '../../lib/workflow/node-options.ts';
import { inChild } from '../support/children.ts';
import type { ProcessCost } from '../support/process-cost.ts';
import { DEFAULT_MEMORY_MB } from './packed.ts';
import { ZipFileWriter } from './zip-file.ts';

/** A spreadsheet that PublishFile reads to its end. */
export interface Sheet {
  id: string;
  what: string;
  /** Texts stand in the cells, or are referred to by their numbers; each is another, or a few come again and again. */
  texts: 'inline' | 'shared';
}

export const SHEETS: Sheet[] = [
  { id: 'xlsx-inline', what: 'xlsx, 21 columns, texts in the cells', texts: 'inline' },
  { id: 'xlsx-shared', what: 'xlsx, 21 columns, millions of shared texts', texts: 'shared' },
];

export interface SheetJob {
  path: string;
  /** How many were requested: `column0` and so on. */
  columns: number;
}

export interface SheetReading extends ProcessCost {
  /** Records behind the header. */
  rows: number;
  /** Name and message of the error, where it cannot be read. */
  refused: string | null;
}

const MOST_ROWS = 1_048_575;
const NAMES = ['דוד', 'שרה', 'משה', 'רחל', 'יעל'];
export const columnsOf = (count: number) => Array.from({ length: count }, (_, column) => `column${column}`);
const COLUMNS = columnsOf(21);

/** Every third column has a number, one a date, the others texts: half of them few, half of them all different. */
function textOf(row: number, column: number): string {
  return column % 2 === 0 ? `${NAMES[row % 5]} ${column}` : `person${row}.${column}@example.com`;
}

/** Columns of which each text is another. */
const DIFFERENT = COLUMNS.flatMap((_, column) => (column % 3 > 0 && column % 2 === 1 ? [column] : []));
const FEW = 5 * COLUMNS.length;

/** @returns bytes of the content */
export async function writeSheet({ texts }: Sheet, path: string, size: number): Promise<number> {
  const rows = Math.min(MOST_ROWS, Math.floor(size / (texts === 'shared' ? 1100 : 1200)));
  return writeParts(path, sheetXml(rows, texts), texts === 'shared' ? sharedXml(rows) : undefined);
}

/** A workbook of one sheet. @returns bytes of the content */
export async function writeParts(path: string, sheet: Iterable<string>, shared?: Iterable<string>): Promise<number> {
  const zip = new ZipFileWriter(path);
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
  let bytes = 0;
  for (const [name, content] of parts) bytes += await zip.add(name, content);
  await zip.end();
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

/** Reads the sheet in a fresh process with the heap of the function. */
export async function readSheet(path: string, columns = COLUMNS.length): Promise<SheetReading> {
  const env = { ...process.env, ...streaming(DEFAULT_MEMORY_MB) };
  const job: SheetJob = { path, columns };
  return inChild(join(import.meta.dirname, 'sheet-child.ts'), job, env);
}
