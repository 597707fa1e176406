import { workbook } from '../../../support/workbook.ts';
import { COLUMNS, type ColumnName } from './columns.ts';
import type { SheetStyle } from './service.ts';
import type { Table } from './table.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const LAST_ROW = 1_048_576;
/** The serial number of 1970-01-01 in Excel's 1900 calendar. */
const EPOCH = 25_569;
const DATE_STYLE = 1;

/** A spreadsheet as other programs write it. */
export function xlsxFile(table: Table, style: SheetStyle): Buffer {
  const strings: string[] = [];
  const others = table.sheets.map(({ name, hidden, rows }) => ({
    name,
    state: hidden ? ('hidden' as const) : ('visible' as const),
    xml: sheetXml(rows.map((cells, at) => rowXml(at + 1, cells, style, strings))),
  }));
  const sheets = [{ name: 'Leads', xml: mainSheet(table, style, strings) }, ...others];
  const sharedXml = strings.map((each) => `<si>${textXml(each)}</si>`).join('');
  return workbook({
    sheets,
    formats: [14],
    ...(style.strings === 'shared' && { sharedXml }),
    parts: table.comment === null ? [] : commentParts(table.comment),
  });
}

function commentParts(comment: string) {
  const type = 'application/vnd.openxmlformats';
  const target = `<Relationship Id="rId1" Type="${OFFICE}/comments" Target="../comments1.xml"/>`;
  return [
    {
      name: 'xl/worksheets/_rels/sheet1.xml.rels',
      content: `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${target}</Relationships>`,
      type: `${type}-package.relationships+xml`,
    },
    {
      name: 'xl/comments1.xml',
      content: `${HEAD}<comments xmlns="${MAIN}"><authors><author>a</author></authors><commentList><comment ref="A1" authorId="0"><text>${textXml(comment)}</text></comment></commentList></comments>`,
      type: `${type}-officedocument.spreadsheetml.comments+xml`,
    },
  ];
}

function mainSheet({ columns, header, rows, lastRow }: Table, style: SheetStyle, strings: string[]): string {
  const titles = Array.from({ length: style.titles }, (_, at) => (at === 1 ? [] : [`Report ${at + 1}`]));
  const above = [...titles, ...(header ? [header] : [])].map((cells, at) => rowXml(at + 1, cells, style, strings));
  const below = rows.map((cells, at) => rowXml(above.length + at + 1, cells, style, strings, columns));
  const used = above.length + below.length;
  const styled = Array.from(
    { length: style.emptyStyledRows },
    (_, at) => `<row r="${used + at + 1}"><c r="A${used + at + 1}" s="${DATE_STYLE}"/></row>`,
  );
  const last = lastRow ? [rowXml(LAST_ROW, lastRow, style, strings)] : [];
  return sheetXml([...above, ...below, ...styled, ...last], style.wrongDimension ? 'A1' : null);
}

function sheetXml(rows: string[], dimension: string | null = null): string {
  const told = dimension === null ? '' : `<dimension ref="${dimension}"/>`;
  return `${HEAD}<worksheet xmlns="${MAIN}">${told}<sheetData>${rows.join('')}</sheetData></worksheet>`;
}

function rowXml(
  number: number,
  cells: readonly string[],
  style: SheetStyle,
  strings: string[],
  columns?: ColumnName[],
): string {
  const xml = cells.map((cell, place) => {
    const at = `r="${letterOf(place)}${number}"`;
    if (cell === '') return '';
    const name = columns?.[place];
    const type = style.typed && name ? COLUMNS[name].type : 'text';
    if (type === 'number') return `<c ${at}><v>${cell}</v></c>`;
    if (type === 'date') return `<c ${at} s="${DATE_STYLE}"><v>${Date.parse(cell) / 86_400_000 + EPOCH}</v></c>`;
    if (style.strings === 'inline') return `<c ${at} t="inlineStr"><is>${textXml(cell)}</is></c>`;
    return `<c ${at} t="s"><v>${strings.push(cell) - 1}</v></c>`;
  });
  return `<row r="${number}">${xml.join('')}</row>`;
}

/** The letter of a column, A to Z. */
const letterOf = (place: number) => String.fromCharCode('A'.charCodeAt(0) + place);

const XML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '_x000D_' };
function textXml(text: string): string {
  return `<t xml:space="preserve">${text.replace(/[&<>"\r]/g, (mark) => XML[mark] ?? mark)}</t>`;
}
