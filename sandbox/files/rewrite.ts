import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { Entity } from '../../core/config/entities.ts';
import { COLUMNS } from '../data/columns.ts';
import { csvLine } from '../data/csv.ts';
import { bufferContent, type FileContent } from '../world/content.ts';
import type { Effect } from '../world/fault-schema.ts';

type Written = NonNullable<Effect['written']>;

/** The records of a file, written as another program would write them. The file is in memory for that. */
export function rewritten(content: FileContent, entity: Entity, written: Written): FileContent {
  const { separator, lineBreak, separatorLine, packed } = written;
  const [names = [], ...records]: string[][] = parse(Buffer.concat([...content.read(0, content.size)]));
  const lines = [...headerOf(names, entity, written), ...records].map((cells) => csvLine(cells, separator, lineBreak));
  if (separatorLine) lines.unshift(`sep=${separator}${lineBreak}`);
  const bytes = encoded(lines.join(''), written);
  return bufferContent(packed ? gzipSync(bytes) : bytes);
}

function headerOf(names: string[], entity: Entity, { header }: Written): string[][] {
  if (header === 'none') return [];
  const labels = new Map(COLUMNS[entity].map(({ fieldName, label }) => [fieldName, label]));
  return [header === 'labels' ? names.map((name) => labels.get(name) ?? name) : names];
}

function encoded(lines: string, { encoding, byteOrderMark }: Written): Buffer {
  const marked = byteOrderMark ? `\uFEFF${lines}` : lines;
  if (encoding === 'utf-8') return Buffer.from(marked);
  const wide = Buffer.from(marked, 'utf16le');
  return encoding === 'utf-16be' ? wide.swap16() : wide;
}
