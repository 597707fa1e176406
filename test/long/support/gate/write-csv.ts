import { gzipSync } from 'node:zlib';
import { encodedAs } from '../../../support/encoded.ts';
import { zipOfTexts } from '../../../support/zip.ts';
import type { Dialect, Service } from './service.ts';
import type { Table } from './table.ts';

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

export const encoded = (text: string, { encoding, byteOrderMark }: Dialect) =>
  encodedAs(byteOrderMark ? `\uFEFF${text}` : text, encoding);

export function packed(bytes: Uint8Array, { compression, kind }: Pick<Service, 'compression' | 'kind'>): Uint8Array {
  if (compression === 'gzip') return gzipSync(bytes);
  return compression === 'zip' ? zipOfTexts({ [`leads.${kind}`]: bytes }) : bytes;
}
