import { LAST_COLUMN, LAST_ROW } from '../../../core/spreadsheet/sheet-row.ts';
import { manyText } from '../../support/text.ts';
import { cellXml, LONGEST_CELL } from './cell-xml.ts';
import { TooMuchForSpreadsheet } from './too-much.ts';

export const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
export const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
/** Excel marks every text that looks like a number as a mistake unless this is there. */
const NUMBERS_ARE_TEXT = `<ignoredErrors><ignoredError sqref="A1:XFD${LAST_ROW}" numberStoredAsText="1"/></ignoredErrors>`;
const WRITTEN_AT_ONCE = 64 * 1024;

/**
 * The XML of a sheet, as its rows come.
 * @throws TooMuchForSpreadsheet where they go beyond a sheet; what `records` throws
 */
export async function* sheetXml(records: AsyncIterable<string[]>): AsyncGenerator<Buffer> {
  let xml = `${XML}<worksheet xmlns="${MAIN}"><sheetData>`;
  let row = 0;
  for await (const record of records) {
    row += 1;
    xml += rowXml(record, row);
    if (xml.length < WRITTEN_AT_ONCE) continue;
    yield Buffer.from(xml);
    xml = '';
  }
  yield Buffer.from(`${xml}</sheetData>${NUMBERS_ARE_TEXT}</worksheet>`);
}

function rowXml(record: string[], row: number): string {
  if (row > LAST_ROW) throw new TooMuchForSpreadsheet(`row ${count(row)} is one more than a sheet has`);
  if (record.length > LAST_COLUMN) {
    throw new TooMuchForSpreadsheet(
      `row ${count(row)} has ${manyText(record.length, 'column')}, and a sheet has ${count(LAST_COLUMN)}`,
    );
  }
  let cells = '';
  for (const [column, text] of record.entries()) {
    if (text.length > LONGEST_CELL) throw tooLong(text, row, column);
    cells += cellXml(text, `${columnName(column)}${row}`);
  }
  return `<row r="${row}">${cells}</row>`;
}

function tooLong({ length }: string, row: number, column: number): TooMuchForSpreadsheet {
  const where = `row ${count(row)}, column ${columnName(column)}`;
  return new TooMuchForSpreadsheet(
    `${where} has ${manyText(length, 'character')}, and a cell has ${count(LONGEST_CELL)}`,
  );
}

const count = (number: number) => number.toLocaleString('en-US');

const NAMES: string[] = [];

/** Counted from 0: that of 27 is `AB`. */
function columnName(column: number): string {
  NAMES[column] ??=
    `${column < 26 ? '' : columnName(Math.floor(column / 26) - 1)}${String.fromCharCode(65 + (column % 26))}`;
  return NAMES[column];
}
