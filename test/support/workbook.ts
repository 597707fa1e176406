import type { Manifest } from '../../core/export/manifest.ts';
import type { ByteSource } from '../../core/file/byte-source.ts';
import { fileRecords } from '../../core/file/file-records.ts';
import { ReadingBudget, type ReadingLimits } from '../../core/file/reading-limits.ts';
import { openZip } from '../../core/file/zip-archive.ts';
import { sheetFacts } from '../../core/spreadsheet/sheet-facts.ts';
import { openWorkbook } from '../../core/spreadsheet/workbook.ts';
import { bytesSource } from './reading.ts';
import { zipOfFiles } from './zip.ts';

/** A cell: a text (inline), a number, or XML. */
type Cell = string | number | null | { xml: string };

export interface SheetDraft {
  name?: string;
  state?: 'visible' | 'hidden' | 'veryHidden';
  /** Rows of cells, or the whole part. */
  rows?: Cell[][];
  xml?: string | Uint8Array;
}

export interface WorkbookDraft {
  sheets: SheetDraft[];
  sharedStrings?: string[];
  /** Raw `<si>` elements. */
  sharedXml?: string;
  /** Format codes of the styles 1, 2, …; numbers are built-in ids. */
  formats?: (string | number)[];
  workbookPr?: string;
  parts?: { name: string; content: string | Uint8Array; type: string }[];
}

const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A workbook (xlsx) with inline strings. */
export const workbookOf = (...rows: Cell[][]): Buffer => workbook({ sheets: [{ rows }] });

export function workbook(draft: WorkbookDraft): Buffer {
  const parts = partsOf(draft);
  return zipOfFiles(...parts.map(({ name, content }) => ({ name, content, deflated: true })));
}

/** A workbook of the sheet `leads`. An empty text is no cell. */
export function smallWorkbook(rows: (string | number)[][]): Buffer {
  return workbook({
    sheets: [{ name: 'leads', rows: rows.map((row) => row.map((cell) => (cell === '' ? null : cell))) }],
  });
}

/** The file entry in the manifest of a published workbook. */
export async function workbookFile(
  bytes: Buffer,
  columns: string[],
): Promise<Pick<Manifest['file'], 'format' | 'header' | 'content' | 'rows'>> {
  const { header, content, rows } = await readSheet(sourceOf(bytes), columns);
  return { format: 'xlsx', header, content, rows };
}

/** A part in the strict edition of the standard. */
export const asStrict = (xml: string) =>
  xml
    .replaceAll(MAIN, 'http://purl.oclc.org/ooxml/spreadsheetml/main')
    .replaceAll(RELATIONSHIPS, 'http://purl.oclc.org/ooxml/officeDocument/relationships');

export function partsOf(draft: WorkbookDraft): { name: string; content: string | Uint8Array }[] {
  const sheets = draft.sheets.map(({ rows, xml }, place) => ({
    name: `xl/worksheets/sheet${place + 1}.xml`,
    content: xml ?? sheetXml(rows ?? []),
    type: `${TYPES}.worksheet+xml`,
  }));
  const parts = [
    { name: 'xl/workbook.xml', content: workbookXml(draft), type: `${TYPES}.sheet.main+xml` },
    { name: 'xl/styles.xml', content: stylesXml(draft.formats ?? []), type: `${TYPES}.styles+xml` },
    ...(draft.sharedStrings || draft.sharedXml ? [sharedPart(draft)] : []),
    ...sheets,
    ...(draft.parts ?? []),
  ];
  const overrides = parts.map(({ name, type }) => `<Override PartName="/${name}" ContentType="${type}"/>`);
  const defaults = `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>`;
  const relations = [
    ...draft.sheets.map((_, place) => [`s${place}`, 'worksheet', `worksheets/sheet${place + 1}.xml`]),
    ['st', 'styles', 'styles.xml'],
    ['ss', 'sharedStrings', '/xl/sharedStrings.xml'],
  ];
  const relationship = ([id, type, target]: string[]) =>
    `<Relationship Id="${id}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`;
  const shared = draft.sharedStrings || draft.sharedXml ? relations : relations.slice(0, -1);
  return [
    { name: '[Content_Types].xml', content: `${DECLARATION}<Types>${defaults}${overrides.join('')}</Types>` },
    {
      name: '_rels/.rels',
      content: `<Relationships>${relationship(['r', 'officeDocument', 'xl/workbook.xml'])}</Relationships>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: `<Relationships>${shared.map(relationship).join('')}</Relationships>`,
    },
    ...parts.map(({ name, content }) => ({ name, content })),
  ];
}

function workbookXml({ sheets, workbookPr }: WorkbookDraft): string {
  const listed = sheets.map(
    ({ state = 'visible', name }, place) =>
      `<sheet name="${name ?? `Sheet${place + 1}`}" sheetId="${place + 1}" state="${state}" r:id="s${place}"/>`,
  );
  return `${DECLARATION}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}">${workbookPr ?? ''}<sheets>${listed.join('')}</sheets></workbook>`;
}

function sharedPart({ sharedStrings = [], sharedXml = '' }: WorkbookDraft) {
  const items = sharedStrings.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`);
  const content = `${DECLARATION}<sst xmlns="${MAIN}">${items.join('')}${sharedXml}</sst>`;
  return { name: 'xl/sharedStrings.xml', content, type: `${TYPES}.sharedStrings+xml` };
}

function stylesXml(formats: (string | number)[]): string {
  const own = formats.flatMap((format, place) =>
    typeof format === 'string' ? [`<numFmt numFmtId="${164 + place}" formatCode="${escaped(format)}"/>`] : [],
  );
  const cells = formats.map(
    (format, place) => `<xf numFmtId="${typeof format === 'string' ? 164 + place : format}" fontId="0"/>`,
  );
  return `${DECLARATION}<styleSheet xmlns="${MAIN}"><numFmts>${own.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${cells.join('')}</cellXfs></styleSheet>`;
}

export function sheetXml(rows: Cell[][]): string {
  // Its declared size is wrong on purpose.
  return `${DECLARATION}<worksheet xmlns="${MAIN}"><dimension ref="A1:B2"/><sheetData>${rows.map(rowXml).join('')}</sheetData></worksheet>`;
}

export function rowXml(cells: Cell[], place: number): string {
  const xml = cells.map((cell, column) => cellXml(cell, `${columnName(column)}${place + 1}`));
  return `<row r="${place + 1}">${xml.join('')}</row>`;
}

function cellXml(cell: Cell, at: string): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return `<c r="${at}"><v>${cell}</v></c>`;
  if (typeof cell === 'string')
    return `<c r="${at}" t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`;
  return cell.xml.replace('<c', `<c r="${at}"`);
}

/** The letters of a column number, from 0: 27 is AB. */
function columnName(column: number): string {
  const before = Math.floor(column / 26);
  return `${before > 0 ? columnName(before - 1) : ''}${String.fromCharCode(65 + (column % 26))}`;
}

/** The bytes in small pieces; `reads` records the requested ranges. */
export const sourceOf = (bytes: Uint8Array, reads: [from: number, to: number][] = []): ByteSource =>
  bytesSource(bytes, 1000, reads);

export const AMPLE = { contentBytes: 1e12, diskBytes: 1e12, secondsLeft: () => 900 };

export function expectedColumns(
  columns: readonly string[],
  more: {
    labels?: Record<string, string>;
    excepted?: string[];
    headerless?: boolean;
    sheet?: string;
    otherSheets?: string[];
  } = {},
) {
  const { excepted = [], ...others } = more;
  const left = excepted.map((name) => ({ name, label: null, entry: name }));
  const fields = [...columns.map((name) => ({ name, label: null })), ...left];
  const formats = ['csv' as const, 'xlsx' as const];
  return { columns, fields, excepted: left, labels: {}, headerless: false, formats, opaque: [], ...others };
}

/** Opens a workbook, by default without limits. */
export const opened = async (source: ByteSource, limits: ReadingLimits = AMPLE) =>
  openWorkbook(await openZip(source, new ReadingBudget(limits)));

/** The facts of a workbook with values, and these requested columns. */
export async function readSheet(
  source: ByteSource,
  columns: readonly string[],
  more: Parameters<typeof expectedColumns>[1] = {},
) {
  const facts = await sheetFacts(await opened(source), expectedColumns(columns, more));
  if (!facts) throw new Error('no sheet has a value');
  return facts;
}

/** The facts of such a workbook, with the rows beside its other counts, and its records. */
export async function readWorkbook(
  bytes: Uint8Array,
  columns: readonly string[],
  more: Parameters<typeof expectedColumns>[1] = {},
) {
  const source = sourceOf(bytes);
  const { content, rows, ...facts } = await readSheet(source, columns, more);
  const form = { format: 'xlsx', compression: null, dialect: null, content };
  const records = await all(fileRecords(source, form, AMPLE));
  return { ...facts, content: { ...content, rows }, records };
}

export async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}
