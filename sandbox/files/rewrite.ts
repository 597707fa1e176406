import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { ZipFile } from 'yazl';
import type { Entity } from '../../core/config/entities.ts';
import { COLUMNS, ID_FIELD } from '../data/entity-columns.ts';
import type { Effect } from '../faults.ts';
import type { FileContent } from '../world.ts';
import { bufferContent, csvLine } from './content.ts';

type Written = NonNullable<Effect['written']>;

/** Writes the records of a file as another program would. The whole file is in memory. */
export async function rewritten(content: FileContent, entity: Entity, written: Written): Promise<FileContent> {
  const [names = [], ...records]: string[][] = parse(Buffer.concat([...content.read(0, content.size)]));
  const header = headerOf(names, entity, written);
  const bytes = await FORMATS[written.format]({ names, rows: [...header, ...records], records }, written);
  if (written.packed === 'zip') return bufferContent(await zipped({ [`${entity}.csv`]: bytes }));
  return bufferContent(written.packed === 'gzip' ? gzipSync(bytes) : bytes);
}

interface Table {
  names: string[];
  /** The header, if there is one, and the records. */
  rows: string[][];
  records: string[][];
}

const FORMATS: Record<Written['format'], (table: Table, written: Written) => Buffer | Promise<Buffer>> = {
  csv: ({ rows }, written) => {
    const { separator, lineBreak, separatorLine } = written;
    const lines = rows.map((cells) => csvLine(cells, separator, lineBreak));
    return encoded([separatorLine ? `sep=${separator}${lineBreak}` : '', ...lines].join(''), written);
  },
  xlsx: ({ rows }) => workbook(rows),
  'json-lines': ({ names, records }) => {
    const objects = records.map((cells) => Object.fromEntries(names.map((name, place) => [name, cells[place]])));
    return Buffer.from(objects.map((record) => `${JSON.stringify(record)}\n`).join(''));
  },
};

function headerOf(names: string[], entity: Entity, { header }: Written): string[][] {
  const labels = new Map([ID_FIELD, ...COLUMNS[entity]].map(({ fieldName, label }) => [fieldName, label]));
  const texts: Record<Written['header'], string[][]> = {
    none: [],
    names: [names],
    labels: [names.map((name) => labels.get(name) ?? name)],
    capitals: [names.map((name) => name.toUpperCase())],
    numbers: [names.map((_, place) => `Field ${place + 1}`)],
  };
  return texts[header];
}

function encoded(lines: string, { encoding, byteOrderMark }: Written): Buffer {
  const marked = byteOrderMark ? `\uFEFF${lines}` : lines;
  if (encoding === 'utf-8') return Buffer.from(marked);
  if (encoding === 'windows-1255') return Buffer.from(marked.replace(/[א-ת]/g, inWindows1255), 'latin1');
  return Buffer.from(marked, 'utf16le');
}

/** windows-1255 has the Hebrew letters in the order of Unicode, starting at E0. */
function inWindows1255(letter: string): string {
  return String.fromCharCode(letter.charCodeAt(0) - 0x5d0 + 0xe0);
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** A fixed time stamp: the same files give the same bytes, so that ETags stay the same. */
const MADE = new Date(Date.UTC(2026, 0, 1));

/** A zip archive of these files. */
function zipped(files: Record<string, string | Buffer>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), name, { mtime: MADE });
  zip.end();
  return buffer(zip.outputStream);
}

/** A workbook (xlsx) of inline texts in one sheet. */
function workbook(rows: string[][]): Promise<Buffer> {
  const override = (part: string, type: string) =>
    `<Override PartName="/xl/${part}.xml" ContentType="${TYPE}.${type}+xml"/>`;
  const relations = (type: string, target: string) =>
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${OFFICE}/${type}" Target="${target}"/></Relationships>`;
  return zipped({
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${override('workbook', 'sheet.main')}${override('worksheets/sheet1', 'worksheet')}</Types>`,
    '_rels/.rels': relations('officeDocument', 'xl/workbook.xml'),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations('worksheet', 'worksheets/sheet1.xml'),
    'xl/worksheets/sheet1.xml': sheetXml(rows),
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
