import { zipOfTexts } from '../../../support/zip.ts';
import { COLUMNS, type ColumnName } from './columns.ts';
import type { SheetStyle } from './service.ts';
import type { Table } from './table.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const LAST_ROW = 1_048_576;
/** The serial number of 1970-01-01 in Excel's 1900 calendar. */
const EPOCH = 25_569;
const DATE_STYLE = 1;

/** A spreadsheet as other programs write it. */
export function xlsxFile(table: Table, style: SheetStyle): Buffer {
  const strings: string[] = [];
  const sheets = [{ name: 'Leads', hidden: false, xml: mainSheet(table, style, strings) }];
  for (const { name, hidden, rows } of table.sheets)
    sheets.push({ name, hidden, xml: sheetXml(rows.map((cells, at) => rowXml(at + 1, cells, style, strings))) });
  const shared = style.strings === 'shared';
  const comment = table.comment !== null;
  return zipOfTexts({
    '[Content_Types].xml': contentTypes(sheets.length, shared, comment),
    '_rels/.rels': relations([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': workbook(sheets),
    'xl/_rels/workbook.xml.rels': relations([
      ...sheets.map((_, at): [string, string] => ['worksheet', `worksheets/sheet${at + 1}.xml`]),
      ['styles', 'styles.xml'],
      ...(shared ? [['sharedStrings', 'sharedStrings.xml'] as [string, string]] : []),
    ]),
    'xl/styles.xml': STYLES,
    ...(shared && {
      'xl/sharedStrings.xml': `${HEAD}<sst xmlns="${MAIN}">${strings.map((each) => `<si>${textXml(each)}</si>`).join('')}</sst>`,
    }),
    ...Object.fromEntries(sheets.map(({ xml }, at) => [`xl/worksheets/sheet${at + 1}.xml`, xml])),
    ...(comment && {
      'xl/worksheets/_rels/sheet1.xml.rels': relations([['comments', '../comments1.xml']]),
      'xl/comments1.xml': `${HEAD}<comments xmlns="${MAIN}"><authors><author>a</author></authors><commentList><comment ref="A1" authorId="0"><text>${textXml(table.comment ?? '')}</text></comment></commentList></comments>`,
    }),
  });
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

function workbook(sheets: { name: string; hidden: boolean }[]): string {
  const each = sheets.map(
    ({ name, hidden }, at) =>
      `<sheet name="${name}" sheetId="${at + 1}"${hidden ? ' state="hidden"' : ''} r:id="rId${at + 1}"/>`,
  );
  return `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${each.join('')}</sheets></workbook>`;
}

function relations(targets: [type: string, target: string][]): string {
  const each = targets.map(
    ([type, target], at) => `<Relationship Id="rId${at + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${each.join('')}</Relationships>`;
}

function contentTypes(sheets: number, shared: boolean, comment: boolean): string {
  const parts: [part: string, type: string][] = [
    ['xl/workbook.xml', 'sheet.main'],
    ['xl/styles.xml', 'styles'],
    ...Array.from({ length: sheets }, (_, at): [string, string] => [`xl/worksheets/sheet${at + 1}.xml`, 'worksheet']),
    ...(shared ? [['xl/sharedStrings.xml', 'sharedStrings'] as [string, string]] : []),
    ...(comment ? [['xl/comments1.xml', 'comments'] as [string, string]] : []),
  ];
  const each = parts.map(([part, type]) => `<Override PartName="/${part}" ContentType="${TYPE}.${type}+xml"/>`);
  return `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${each.join('')}</Types>`;
}

/** Cell formats: general, and a date (14). */
const STYLES = `${HEAD}<styleSheet xmlns="${MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="14" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>`;
