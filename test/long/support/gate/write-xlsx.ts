import { rowXml, sheetXml, workbook } from '../../../support/workbook.ts';
import { COLUMNS, type Column, type ColumnName } from './columns.ts';
import type { SheetStyle } from './service.ts';
import type { Table } from './table.ts';

const LAST_ROW = 1_048_576;
/** The serial number of 1970-01-01 in Excel's 1900 calendar. */
const EPOCH = 25_569;

/** A spreadsheet as other programs write it. */
export function xlsxFile({ columns, header, rows, sheets, comment, lastRow }: Table, style: SheetStyle): Buffer {
  const sharedStrings: string[] = [];
  const textCell = (cell: string) => {
    const text = cell.replaceAll('\r', '_x000D_');
    return style.strings === 'inline' ? text : { xml: `<c t="s"><v>${sharedStrings.push(text) - 1}</v></c>` };
  };
  const cellsOf = (cells: readonly string[], names: readonly ColumnName[] = []) =>
    cells.map((cell, place) => {
      const name = style.typed ? names[place] : undefined;
      if (cell === '') return null;
      return (name && typedCell(cell, COLUMNS[name].type)) ?? textCell(cell);
    });
  const titles = Array.from({ length: style.titles }, (_, at) => (at === 1 ? [] : [`Report ${at + 1}`]));
  const above = [...titles, ...(header ? [header] : [])].map((cells) => cellsOf(cells));
  const below = rows.map((cells) => cellsOf(cells, columns));
  const styled = Array.from({ length: style.emptyStyledRows }, () => [{ xml: '<c s="1"/>' }]);
  const last = lastRow ? rowXml(cellsOf(lastRow), LAST_ROW - 1) : '';
  const xml = sheetXml([...above, ...below, ...styled]).replace('</sheetData>', () => `${last}</sheetData>`);
  const others = sheets.map(({ name, hidden, rows: cells }) => ({
    name,
    state: hidden ? ('hidden' as const) : ('visible' as const),
    rows: cells.map((each) => cellsOf(each)),
  }));
  return workbook({
    sheets: [{ name: 'Leads', xml }, ...others],
    formats: [14],
    ...(style.strings === 'shared' && { sharedStrings }),
    parts: comment === null ? [] : commentParts(comment),
  });
}

/** `undefined` for a text. */
function typedCell(cell: string, type: Column['type']) {
  if (type === 'number') return Number(cell);
  return type === 'date' ? { xml: `<c s="1"><v>${Date.parse(cell) / 86_400_000 + EPOCH}</v></c>` } : undefined;
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const COMMENTS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments';

function commentParts(comment: string) {
  const type = 'application/vnd.openxmlformats';
  return [
    {
      name: 'xl/worksheets/_rels/sheet1.xml.rels',
      content: `<Relationships><Relationship Id="rId1" Type="${COMMENTS}" Target="../comments1.xml"/></Relationships>`,
      type: `${type}-package.relationships+xml`,
    },
    {
      name: 'xl/comments1.xml',
      content: `<comments xmlns="${MAIN}"><authors><author>a</author></authors><commentList><comment ref="A1" authorId="0"><text><t>${comment}</t></text></comment></commentList></comments>`,
      type: `${type}-officedocument.spreadsheetml.comments+xml`,
    },
  ];
}
