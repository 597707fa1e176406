import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { Entity } from '../../core/config/entities.ts';
import { COLUMNS, ID_FIELD } from '../data/columns.ts';
import { csvLine } from '../data/csv.ts';
import { bufferContent, type FileContent } from '../world/content.ts';
import type { Effect } from '../world/fault-schema.ts';
import { workbook, zipped } from './workbook.ts';

type Written = NonNullable<Effect['written']>;

/** The records of a file, written as another program would write them. The file is in memory for that. */
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
  xlsx: ({ rows }, { titleRows, moreSheets }) => {
    const titles = Array.from({ length: titleRows }, () => ['Export of the CRM']);
    return workbook(Array.from({ length: 1 + moreSheets }, () => [...titles, ...rows]));
  },
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
  const wide = Buffer.from(marked, 'utf16le');
  return encoding === 'utf-16be' ? wide.swap16() : wide;
}

/** windows-1255 has the Hebrew letters in the order of Unicode, from E0 on. */
function inWindows1255(letter: string): string {
  return String.fromCharCode(letter.charCodeAt(0) - 0x5d0 + 0xe0);
}
