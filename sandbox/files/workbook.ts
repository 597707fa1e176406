import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The same bytes for the same files, so that ETags hold. */
const MADE = new Date(Date.UTC(2026, 0, 1));

/** A zip archive of these files. */
export function zipped(files: Record<string, string | Buffer>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), name, { mtime: MADE });
  zip.end();
  return buffer(zip.outputStream);
}

/** A workbook (xlsx) of inline texts; each sheet is a list of rows of cells. */
export function workbook(sheets: string[][][]): Promise<Buffer> {
  const numbers = sheets.map((_, place) => place + 1);
  const each = (write: (number: number) => string) => numbers.map(write).join('');
  const override = (part: string, type: string) =>
    `<Override PartName="/xl/${part}.xml" ContentType="${TYPE}.${type}+xml"/>`;
  const relation = (number: number | string, type: string, target: string) =>
    `<Relationship Id="r${number}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relations = (content: string) => `<Relationships xmlns="${PACKAGE}/relationships">${content}</Relationships>`;
  const listed = each((number) => `<sheet name="Sheet${number}" sheetId="${number}" r:id="r${number}"/>`);
  return zipped({
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${override('workbook', 'sheet.main')}${each((number) => override(`worksheets/sheet${number}`, 'worksheet'))}</Types>`,
    '_rels/.rels': relations(relation('', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${listed}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      each((number) => relation(number, 'worksheet', `worksheets/sheet${number}.xml`)),
    ),
    ...Object.fromEntries(sheets.map((rows, place) => [`xl/worksheets/sheet${place + 1}.xml`, sheetXml(rows)])),
  });
}

function sheetXml(rows: string[][]): string {
  const written = rows.map((cells) => `<row>${cells.map(cellXml).join('')}</row>`);
  return `<worksheet xmlns="${MAIN}"><sheetData>${written.join('')}</sheetData></worksheet>`;
}

function cellXml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\r', '&#13;');
  return `<c t="inlineStr"><is><t xml:space="preserve">${escaped}</t></is></c>`;
}
