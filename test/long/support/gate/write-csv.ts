import { gzipSync } from 'node:zlib';
import { zipOfTexts } from '../../../support/zip.ts';
import type { Dialect, Service } from './service.ts';
import type { Table } from './table.ts';

/** The text of a CSV file. */
export function csvText({ header, rows, tail }: Pick<Table, 'header' | 'rows' | 'tail'>, dialect: Dialect): string {
  const { separator, lineBreak, separatorLine, finalBreak, titles, trailing } = dialect;
  const lineOf = (cells: string[], of: Dialect['trailing']) =>
    [...cells.map((cell) => quoted(cell, dialect)), ...(trailing === of ? [''] : [])].join(separator);
  const records = [...(header ? [lineOf(header, 'header')] : []), ...rows.map((cells) => lineOf(cells, 'rows'))];
  const above = header ? TITLES.slice(0, titles) : [];
  const lines = [...(separatorLine ? [`sep=${separator}`] : []), ...above, ...records, ...tail];
  return lines.join(lineBreak) + (finalBreak && lines.length > 0 ? lineBreak : '');
}

const TITLES = ['Records of the night', 'Made by the CRM', '2 pages'];

function quoted(cell: string, { quoting, separator }: Dialect): string {
  const needed = cell.includes(separator) || /["\r\n]/.test(cell);
  return needed || quoting === 'all' ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export function encoded(text: string, { encoding, byteOrderMark }: Dialect): Buffer {
  const marked = byteOrderMark ? `\uFEFF${text}` : text;
  if (encoding === 'utf-8') return Buffer.from(marked);
  if (encoding === 'windows-1255') return windows1255(marked);
  const wide = Buffer.from(marked, 'utf16le');
  return encoding === 'utf-16be' ? wide.swap16() : wide;
}

/** Encodes Hebrew letters and ASCII only. */
function windows1255(text: string): Buffer {
  return Buffer.from(
    [...text].map((letter) => (letter >= 'א' ? letter.charCodeAt(0) - 0x05d0 + 0xe0 : letter.charCodeAt(0))),
  );
}

export function packed(bytes: Uint8Array, { compression, kind }: Pick<Service, 'compression' | 'kind'>): Uint8Array {
  if (compression === 'gzip') return gzipSync(bytes);
  return compression === 'zip' ? zipOfTexts({ [`leads.${kind}`]: bytes }) : bytes;
}
