import type { Entity } from '../../core/config/entities.ts';
import { csvLine, recordLine } from '../data/csv.ts';
import { DISTINCT_RECORDS, ID_NUMBER_DIGITS } from '../data/records.ts';
import { select } from '../data/select.ts';
import { bufferContent, type FileContent, strongEtag } from '../world/content.ts';
import type { ExportRequest } from '../world/jobs.ts';
import { bytesOf, rowsOf } from '../world/settings.ts';
import type { World } from '../world/world.ts';

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

/** A run of CSV lines that is repeated; only the numbers inside the ids differ, and they have a fixed width. */
interface Block {
  bytes: Buffer;
  /** Offset of each line. */
  lines: number[];
  /** Offsets of the numbers inside the ids; several per line where the column `id` is requested more than once. */
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
 * A CSV file of about `targetBytes`: the block over and over, each repeat under ids of its own, whole lines only.
 * Nothing but one block is ever in memory. Without records the file is its header.
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
