import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { MAIN, sheetXml, XML } from './sheet-xml.ts';

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-';
const SHEET = 'xl/worksheets/sheet1.xml';

/**
 * Yields a workbook (xlsx) of one sheet in which every cell is a text, as its bytes come. Libraries that write workbooks hold the
 * sheet in memory (write-excel-file: 2.7 GB for 200,000 rows), so only the archive is a library's.
 * @param name of the sheet
 * @throws TooMuchForSpreadsheet where the records go beyond a sheet; what `records` throws
 */
export async function* workbookOf(name: string, records: AsyncIterable<string[]>): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  for (const [part, xml] of Object.entries(partsOf(name))) zip.addBuffer(Buffer.from(XML + xml), part);
  const sheet = Readable.from(sheetXml(records));
  const output = zip.outputStream as Readable;
  // The library pipes it without a look at its errors.
  sheet.on('error', (error) => output.destroy(error));
  zip.addReadStream(sheet, SHEET);
  zip.end();
  try {
    yield* output;
  } finally {
    sheet.destroy();
  }
}

/** All but the sheet. */
function partsOf(name: string): Record<string, string> {
  return {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="${TYPE}package.relationships+xml"/>${typed('xl/workbook.xml', 'sheet.main')}${typed('xl/styles.xml', 'styles')}${typed(SHEET, 'worksheet')}</Types>`,
    '_rels/.rels': relationships([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="${name}" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ['worksheet', 'worksheets/sheet1.xml'],
      ['styles', 'styles.xml'],
    ]),
    'xl/styles.xml': STYLES,
  };
}

/** The second format, 49, is text: a cell that a person edits stays one. */
const STYLES = `<styleSheet xmlns="${MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

function typed(part: string, type: string): string {
  return `<Override PartName="/${part}" ContentType="${TYPE}officedocument.spreadsheetml.${type}+xml"/>`;
}

function relationships(targets: [type: string, target: string][]): string {
  const each = targets.map(
    ([type, target], at) => `<Relationship Id="r${at + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${PACKAGE}/relationships">${each.join('')}</Relationships>`;
}
