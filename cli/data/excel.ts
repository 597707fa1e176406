import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { ZipFile } from 'yazl';
import type { Manifest } from '../../core/export/manifest.ts';
import { eachRecord } from '../../core/file/file-records.ts';
import { LAST_COLUMN, LAST_ROW } from '../../core/spreadsheet/sheet-rows.ts';
import type { CommandError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { countText, numberText } from '../support/text.ts';
import { openPart } from './download-part.ts';
import { recordsOf } from './stored-file.ts';
import { fileError } from './stored-manifests.ts';

/** Makes V8 collect dead rows early: a million rows then take 200 MB instead of 270. */
const SMALL_YOUNG_GENERATION = '--semi-space-growth-factor=1';

/**
 * Writes the file of a manifest as a workbook. The workbook gets its final name only after the whole file was read and
 * verified; otherwise the partial workbook is removed.
 * @throws CommandError: 1 if the file cannot be read, differs from its manifest or is too large for a spreadsheet, 2 if
 *   the workbook cannot be written
 */
export async function downloadForExcel(
  target: Target,
  manifest: Manifest,
  path: string,
  { force, signal }: { force: boolean; signal?: AbortSignal | undefined },
): Promise<void> {
  setFlagsFromString(SMALL_YOUNG_GENERATION);
  // A workbook cannot continue an earlier attempt, so it discards the bytes of that attempt.
  const part = await openPart(path, { wholeBytes: 0, force, signal });
  try {
    const records = eachRecord(recordsOf(target, manifest, { signal }));
    let bytes = 0;
    for await (const chunk of workbookOf(manifest.run.entity, records)) {
      await part.append(chunk);
      bytes += chunk.length;
    }
    await part.finish(bytes);
  } catch (error) {
    await part.discard();
    throw error;
  } finally {
    await part.close();
  }
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-';
const SHEET = 'xl/worksheets/sheet1.xml';

/**
 * Streams a workbook (xlsx) with one sheet in which every cell is a text. Libraries that write workbooks keep the sheet
 * in memory (write-excel-file: 2.7 GB for 200,000 rows), so a library writes only the archive.
 * @param name of the sheet
 * @throws CommandError (exit code 1) if the records exceed the limits of a sheet; errors of `records`
 */
export async function* workbookOf(name: string, records: AsyncIterable<string[]>): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  for (const [part, xml] of Object.entries(partsOf(name))) zip.addBuffer(Buffer.from(XML + xml), part);
  const sheet = Readable.from(sheetXml(records));
  const output = zip.outputStream as Readable;
  // The library pipes this stream but does not handle its errors.
  sheet.on('error', (error) => output.destroy(error));
  zip.addReadStream(sheet, SHEET);
  zip.end();
  try {
    yield* output;
  } finally {
    sheet.destroy();
  }
}

/** All parts of the workbook except the sheet. */
function partsOf(name: string): Record<string, string> {
  return {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="${TYPE}package.relationships+xml"/>${typed('xl/workbook.xml', 'sheet.main')}${typed('xl/styles.xml', 'styles')}${typed(SHEET, 'worksheet')}</Types>`,
    '_rels/.rels': relationships([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><bookViews><workbookView/></bookViews><sheets><sheet name="${name}" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ['worksheet', 'worksheets/sheet1.xml'],
      ['styles', 'styles.xml'],
    ]),
    'xl/styles.xml': STYLES,
  };
}

/** Cell formats 1 and 2 are text (49), so that an edited cell stays a text. Format 2 is bold, for the header. */
const STYLES = `<styleSheet xmlns="${MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

function typed(part: string, type: string): string {
  return `<Override PartName="/${part}" ContentType="${TYPE}officedocument.spreadsheetml.${type}+xml"/>`;
}

function relationships(targets: [type: string, target: string][]): string {
  const each = targets.map(
    ([type, target], at) => `<Relationship Id="r${at + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${PACKAGE}/relationships">${each.join('')}</Relationships>`;
}

/** Excel marks a text that looks like a number as a mistake. This element switches the marks off. */
const NUMBERS_ARE_TEXT = `<ignoredErrors><ignoredError sqref="A1:XFD${LAST_ROW}" numberStoredAsText="1"/></ignoredErrors>`;
const WRITTEN_AT_ONCE = 64 * 1024;

/** Column widths follow the texts of this many first rows, header included. */
const MEASURED_ROWS = 100;
const NARROWEST = 8;
const WIDEST = 60;
const FROZEN_HEADER =
  '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>';

/**
 * Streams the XML of a sheet. The first row is the header: bold, frozen, with a filter.
 * @throws CommandError (exit code 1) if the records exceed the limits of a sheet; errors of `records`
 */
export async function* sheetXml(records: AsyncIterable<string[]>): AsyncGenerator<Buffer> {
  const first: string[][] = [];
  let xml = '';
  let row = 0;
  for await (const record of records) {
    row += 1;
    xml += rowXml(record, row);
    if (row <= MEASURED_ROWS) first.push(record);
    if (row < MEASURED_ROWS || (row > MEASURED_ROWS && xml.length < WRITTEN_AT_ONCE)) continue;
    yield Buffer.from(row === MEASURED_ROWS ? beginningXml(first) + xml : xml);
    xml = '';
  }
  const filtered = first[0]?.length ? `<autoFilter ref="A1:${columnName(first[0].length - 1)}${row}"/>` : '';
  const beginning = row < MEASURED_ROWS ? beginningXml(first) : '';
  yield Buffer.from(`${beginning}${xml}</sheetData>${filtered}${NUMBERS_ARE_TEXT}</worksheet>`);
}

function beginningXml(first: string[][]): string {
  const widths = (first[0] ?? []).map((_, column) => {
    const longest = Math.max(...first.map((record) => record[column]?.length ?? 0));
    return Math.min(WIDEST, Math.max(NARROWEST, longest + 2));
  });
  const columns = widths.map((width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`);
  const cols = columns.length > 0 ? `<cols>${columns.join('')}</cols>` : '';
  return `${XML}<worksheet xmlns="${MAIN}">${FROZEN_HEADER}${cols}<sheetData>`;
}

function rowXml(record: string[], row: number): string {
  if (row > LAST_ROW) throw tooMuch(`row ${numberText(row)} is one more than a sheet can have`);
  if (record.length > LAST_COLUMN) {
    throw tooMuch(
      `row ${numberText(row)} has ${countText(record.length, 'column')}, and a sheet has ${numberText(LAST_COLUMN)}`,
    );
  }
  let cells = '';
  for (const [column, text] of record.entries()) {
    if (text.length > LONGEST_CELL) {
      const where = `row ${numberText(row)}, column ${columnName(column)}`;
      throw tooMuch(`${where} has ${countText(text.length, 'character')}, and a cell has ${numberText(LONGEST_CELL)}`);
    }
    cells += cellXml(text, `${columnName(column)}${row}`, row === 1 ? 2 : 1);
  }
  return `<row r="${row}">${cells}</row>`;
}

const NAMES: string[] = [];

/** The name of a column, counted from 0: column 27 is `AB`. */
function columnName(column: number): string {
  NAMES[column] ??=
    `${column < 26 ? '' : columnName(Math.floor(column / 26) - 1)}${String.fromCharCode(65 + (column % 26))}`;
  return NAMES[column];
}

/** Longest text of a cell in UTF-16 units, which JavaScript counts too. */
const LONGEST_CELL = 32_767;

/**
 * Characters that XML 1.0 forbids or normalizes: controls, a carriage return, half a surrogate pair. ECMA-376 writes
 * them as `_x000D_` (part 1, 22.9.2.19, ST_Xstring).
 */
const NO_XML = String.raw`(?![\t\n])[\p{Cc}\p{Surrogate}\ufffe\uffff]`;
/** Matches an underscore too, if it would read as the start of `_xHHHH_`, even completed by the escape after it. */
const ESCAPED = new RegExp(`${NO_XML}|_(?=x[0-9a-f]{4}(?:_|${NO_XML}))`, 'giu');
const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** A fast test for texts that need no escaping, which is most of them. */
const SPECIAL = /[&<>_\p{Cc}\p{Surrogate}\ufffe\uffff]/u;
/** Blanks that need xml:space, because programs may drop them as layout of the XML. */
const BLANKS_COUNT = /^\s|\s$|[\t\n]/;

/** A cell with an inline text, which no spreadsheet reads as a formula or number. @param place such as `AB12` */
function cellXml(text: string, place: string, format: number): string {
  if (text === '') return '';
  const space = BLANKS_COUNT.test(text) ? ' xml:space="preserve"' : '';
  return `<c r="${place}" s="${format}" t="inlineStr"><is><t${space}>${xmlText(text)}</t></is></c>`;
}

function xmlText(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(ESCAPED, escaped).replace(/[&<>]/g, (mark) => MARKUP[mark] ?? mark);
}

function escaped(unit: string): string {
  return `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
}

/** @param limit the limit of a spreadsheet that the records exceed, without a value */
function tooMuch(limit: string): CommandError {
  return fileError(`The file is too large for a spreadsheet: ${limit}. Download it without --excel.`);
}
