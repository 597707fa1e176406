import { createHash } from 'node:crypto';
import type { Entity } from '../../core/config/entities.ts';
import type { Cell } from '../data/entity-columns.ts';
import { type CrmRecord, DISTINCT_RECORDS, ID_NUMBER_DIGITS } from '../data/records.ts';
import { bytesOf, rowsOf } from '../sandbox-settings.ts';
import type { FileContent, World } from '../world.ts';

/** An export request: the columns, the filters and the order of the records. */
export interface ExportRequest {
  columns: string[];
  sorts: { field: string; dir: 'asc' | 'desc' }[];
  filters: { field: string; operator: string; value: unknown }[];
  filtersOperator: 'and' | 'or';
}

/** The CSV file of an export request: UTF-8, the columns in the requested order, CRLF line ends. */
export function exportContent({ settings, records }: World, entity: Entity, request: ExportRequest): FileContent {
  const targetBytes = bytesOf(settings, entity);
  const all = records.list(entity, targetBytes === null ? rowsOf(settings, entity) : DISTINCT_RECORDS);
  const rows = select(all, request).map((record) => ({
    id: String(record.id),
    line: recordLine(record, request.columns, settings.canary),
  }));
  const header = csvLine(request.columns);
  if (targetBytes !== null) return blockContent(makeBlock(rows), targetBytes, Buffer.from(header));
  return bufferContent([header, ...rows.map(({ line }) => line)].join(''));
}

/** CSV lines to repeat. Only the numbers inside the ids differ, and they have a fixed width. */
interface Block {
  bytes: Buffer;
  /** Offset of each line. */
  lines: number[];
  /** Offsets of the numbers inside the ids; several per line if the request repeats the column `id`. */
  numbers: { at: number; line: number }[];
}

function makeBlock(rows: { id: string; line: string }[]): Block {
  const block: Omit<Block, 'bytes'> = { lines: [], numbers: [] };
  const parts: Buffer[] = [];
  let at = 0;
  for (const [line, { id, line: text }] of rows.entries()) {
    const bytes = Buffer.from(text);
    block.lines.push(at);
    for (let found = bytes.indexOf(id); found !== -1; found = bytes.indexOf(id, found + 1)) {
      block.numbers.push({ at: at + found + id.length - ID_NUMBER_DIGITS, line });
    }
    parts.push(bytes);
    at += bytes.length;
  }
  return { ...block, bytes: Buffer.concat(parts) };
}

function numbered(block: Block, repeat: number): Buffer {
  const bytes = Buffer.from(block.bytes);
  for (const { at, line } of block.numbers) {
    const number = (repeat * block.lines.length + line).toString(16).padStart(ID_NUMBER_DIGITS, '0');
    bytes.write(number, at, 'latin1');
  }
  return bytes;
}

/**
 * A CSV file of about `targetBytes`: repeats the block, each time with new ids, in whole lines. Memory holds only one
 * block. Without records the file is its header.
 */
function blockContent(block: Block, targetBytes: number, header: Buffer): FileContent {
  const length = block.bytes.length;
  const room = Math.max(0, targetBytes - header.length);
  const rest = block.lines.findLast((at) => at <= room % length) ?? 0;
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

/** Small enough to show back-pressure, large enough not to slow 2 GB down. */
const CHUNK_BYTES = 256 * 1024;

/** An ETag, quotes included, for exactly these parts. */
export function strongEtag(...parts: (string | Uint8Array)[]): string {
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

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const left = String(a ?? '');
  const right = String(b ?? '');
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

const OPERATORS: Record<string, (cell: Cell, value: unknown) => boolean> = {
  equals: (cell, value) => compare(cell, value) === 0,
  contains: (cell, value) => String(cell ?? '').includes(String(value)),
  gt: (cell, value) => cell !== null && compare(cell, value) > 0,
  lt: (cell, value) => cell !== null && compare(cell, value) < 0,
};

function matches(record: CrmRecord, { filters, filtersOperator }: ExportRequest): boolean {
  const results = filters
    .filter(({ operator }) => Object.hasOwn(OPERATORS, operator))
    .map(({ field, operator, value }) => OPERATORS[operator]?.(record[field] ?? null, value));
  if (results.length === 0) return true;
  return filtersOperator === 'and' ? results.every(Boolean) : results.some(Boolean);
}

/** The records that pass the filters, in the requested order. A filter with an unknown operator passes all. */
function select(records: CrmRecord[], request: ExportRequest): CrmRecord[] {
  const found = records.filter((record) => matches(record, request));
  return found.sort((a, b) => {
    for (const { field, dir } of request.sorts) {
      const order = compare(a[field], b[field]);
      if (order !== 0) return dir === 'asc' ? order : -order;
    }
    return 0;
  });
}

/** One CSV line of texts (RFC 4180, unless a separator or a line end is given). */
export function csvLine(cells: string[], separator = ',', lineBreak = '\r\n'): string {
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  const texts = cells.map((cell) => (/["\r\n]/.test(cell) || cell.includes(separator) ? quoted(cell) : cell));
  return `${texts.join(separator)}${lineBreak}`;
}

function text(cell: Cell | undefined, canary: string): string {
  const value = String(cell ?? '');
  return canary === '' ? value : `${value} ${canary}`.trimStart();
}

/** The line of a record with these columns. Every cell contains the canary. */
function recordLine(record: CrmRecord, columns: string[], canary: string): string {
  return csvLine(columns.map((name) => text(record[name], canary)));
}
