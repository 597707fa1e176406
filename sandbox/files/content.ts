import { createHash } from 'node:crypto';
import type { Entity } from '../../core/config/entities.ts';
import { type CrmRecord, DISTINCT_RECORDS, ID_NUMBER_DIGITS } from '../data/records.ts';
import { bytesOf, rowsOf } from '../sandbox-settings.ts';
import { type FileContent, marked, type World } from '../world.ts';

/** What an export request selects: the columns, and the order of the records. */
export interface ExportRequest {
  columns: string[];
  sorts: { field: string; dir: 'asc' | 'desc' }[];
}

/** The CSV file of an export request: UTF-8, the columns in the requested order, CRLF line ends, the canary in every cell. */
export function exportContent(world: World, entity: Entity, { columns, sorts }: ExportRequest): FileContent {
  const { settings, records } = world;
  const targetBytes = bytesOf(settings, entity);
  const all = records.list(entity, targetBytes === null ? rowsOf(settings, entity) : DISTINCT_RECORDS);
  const rows = inOrder(all, sorts).map((record) => ({
    id: String(record.id),
    line: csvLine(columns.map((name) => marked(world, record[name] ?? ''))),
  }));
  const header = csvLine(columns);
  if (targetBytes !== null) return blockContent(makeBlock(rows), targetBytes, Buffer.from(header));
  return bufferContent([header, ...rows.map(({ line }) => line)].join(''));
}

/** CSV lines to repeat. Only the numbers inside the ids differ, and they have a fixed width. */
interface Block {
  bytes: Buffer;
  /** The offset of each line, and of the number in its id: null without the column `id`. */
  lines: { at: number; number: number | null }[];
}

function makeBlock(rows: { id: string; line: string }[]): Block {
  let at = 0;
  const lines = rows.map(({ id, line }) => {
    const bytes = Buffer.from(line);
    const inLine = bytes.indexOf(id);
    const number = inLine === -1 ? null : at + inLine + id.length - ID_NUMBER_DIGITS;
    const place = { at, number };
    at += bytes.length;
    return place;
  });
  return { bytes: Buffer.from(rows.map(({ line }) => line).join('')), lines };
}

function numbered({ bytes, lines }: Block, repeat: number): Buffer {
  const copy = Buffer.from(bytes);
  for (const [index, { number }] of lines.entries()) {
    const text = (repeat * lines.length + index).toString(16).padStart(ID_NUMBER_DIGITS, '0');
    if (number !== null) copy.write(text, number, 'latin1');
  }
  return copy;
}

/**
 * A CSV file of about `targetBytes`: repeats the block, each time with new ids, in whole lines. Memory holds only one
 * block. Without records the file is its header.
 */
function blockContent(block: Block, targetBytes: number, header: Buffer): FileContent {
  const length = block.bytes.length;
  const room = Math.max(0, targetBytes - header.length);
  const rest = block.lines.findLast(({ at }) => at <= room % length)?.at ?? 0;
  const size = header.length + (length === 0 ? 0 : room - (room % length) + rest);
  function* read(from: number, to: number): Generator<Buffer> {
    if (from < header.length) yield header.subarray(from, Math.min(to, header.length));
    let at = Math.max(from, header.length);
    while (at < to) {
      const offset = at - header.length;
      const chunk = numbered(block, Math.floor(offset / length)).subarray(offset % length, (offset % length) + to - at);
      yield chunk;
      at += chunk.length;
    }
  }
  return { size, etag: strongEtag(header, block.bytes, String(size)), read };
}

/** The size of a chunk: small enough to show back-pressure, large enough for a fast file of 2 GB. */
const CHUNK_BYTES = 256 * 1024;

/** An ETag, quotes included, for exactly these parts. */
function strongEtag(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return `"${hash.digest('hex').slice(0, 32)}"`;
}

/** A file in memory. */
export function bufferContent(data: string | Uint8Array): FileContent {
  const bytes = Buffer.from(data);
  function* read(from: number, to: number): Generator<Buffer> {
    for (let at = from; at < to; at += CHUNK_BYTES) yield bytes.subarray(at, Math.min(at + CHUNK_BYTES, to));
  }
  return { size: bytes.length, etag: strongEtag(bytes), read };
}

function inOrder(records: CrmRecord[], sorts: ExportRequest['sorts']): CrmRecord[] {
  return records.sort((a, b) => {
    for (const { field, dir } of sorts) {
      const order = compare(a[field] ?? '', b[field] ?? '');
      if (order !== 0) return dir === 'asc' ? order : -order;
    }
    return 0;
  });
}

function compare(a: string | number | boolean, b: string | number | boolean): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** One CSV line of texts (RFC 4180). */
function csvLine(cells: string[]): string {
  return `${cells.map((cell) => (/["\r\n,]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}
