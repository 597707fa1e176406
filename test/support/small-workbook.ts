import { crc32, deflateRawSync } from 'node:zlib';
import type { Manifest } from '../../core/export/manifest.ts';
import { sheetFacts } from '../../core/spreadsheet/sheet-facts.ts';
import { expectedColumns, opened, sourceOf } from './workbook.ts';

type Cell = string | number | { date: number } | { time: number };

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

const TYPE = 'application/vnd.openxmlformats-';
const typed = (part: string, type: string) =>
  `<Override PartName="/xl/${part}.xml" ContentType="${TYPE}officedocument.spreadsheetml.${type}+xml"/>`;
const CONTENT_TYPES = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="${TYPE}package.relationships+xml"/>${typed('workbook', 'sheet.main')}${typed('styles', 'styles')}${typed('worksheets/sheet1', 'worksheet')}</Types>`;

/**
 * A workbook (xlsx) of one sheet with inline texts. `date` and `time`: days since 1899-12-30, as a date or with time.
 */
export function smallWorkbook(rows: Cell[][]): Buffer {
  const packageRelationships = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`;
  const relationship = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`;
  return zipOfFiles({
    '[Content_Types].xml': CONTENT_TYPES,
    '_rels/.rels': `<Relationships ${packageRelationships}>${relationship('r1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}"><sheets><sheet name="leads" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships ${packageRelationships}>${relationship('r1', 'worksheet', 'worksheets/sheet1.xml')}${relationship('r2', 'styles', 'styles.xml')}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${MAIN}"><sheetData>${rows.map(rowXml).join('')}</sheetData></worksheet>`,
  });
}

/** The file entry in the manifest of a published workbook. @param headerless as `columns.header: "none"` */
export async function workbookFile(
  content: Buffer,
  columns: string[],
  headerless = false,
): Promise<Pick<Manifest['file'], 'format' | 'header' | 'content' | 'rows'>> {
  const expected = expectedColumns(columns, { headerless });
  const { header, content: known } = await sheetFacts(await opened(sourceOf(content)), expected);
  return { format: 'xlsx', header, content: known, rows: known.rows };
}

function rowXml(cells: Cell[], row: number): string {
  const found = cells.map((cell, column) => cellXml(cell, `${String.fromCharCode(65 + column)}${row + 1}`));
  return `<row r="${row + 1}">${found.join('')}</row>`;
}

function cellXml(cell: Cell, place: string): string {
  if (cell === '') return '';
  if (typeof cell === 'string') return `<c r="${place}" t="inlineStr"><is><t>${cell}</t></is></c>`;
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`;
  const [style, value] = 'date' in cell ? [1, cell.date] : [2, cell.time];
  return `<c r="${place}" s="${style}"><v>${value}</v></c>`;
}

/** A zip archive of these files, compressed. */
export function zipOfFiles(files: Record<string, string | Uint8Array>): Buffer {
  const local: Buffer[] = [];
  const listed: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const packed = deflateRawSync(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(Buffer.byteLength(content), 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const entry = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    listed.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), common, rest, Buffer.from(name)]));
    local.push(entry);
    offset += entry.length;
  }
  const directory = Buffer.concat(listed);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  for (const at of [8, 10]) end.writeUInt16LE(listed.length, at);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}
