import { recordLine } from '../data/csv.ts';
import { type CrmRecord, ID_NUMBER_DIGITS } from '../data/records.ts';
import { type FileContent, strongEtag } from '../world/content.ts';

/** A run of CSV lines that is repeated; only the numbers inside the ids differ, and they have a fixed width. */
interface Block {
  bytes: Buffer;
  /** Offset of each line. */
  lines: number[];
  /** Offsets of the numbers inside the ids; several per line where the column `id` is requested more than once. */
  numbers: { at: number; line: number }[];
}

function makeBlock(records: CrmRecord[], columns: string[], canary: string): Block {
  const block: Omit<Block, 'bytes'> = { lines: [], numbers: [] };
  const parts: Buffer[] = [];
  let at = 0;
  for (const [line, record] of records.entries()) {
    const bytes = Buffer.from(recordLine(record, columns, canary));
    const id = String(record.id);
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
 * A CSV file of about `targetBytes`: these records over and over, each repeat under ids of its own, whole lines only.
 * Nothing but one block is ever in memory. Without records the file is its header.
 */
export function blockContent(
  {
    records,
    columns,
    canary,
    targetBytes,
  }: { records: CrmRecord[]; columns: string[]; canary: string; targetBytes: number },
  header: Buffer,
): FileContent {
  const block = makeBlock(records, columns, canary);
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
