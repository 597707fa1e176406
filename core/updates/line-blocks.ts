import { crc32 } from 'node:zlib';

const LF = 0x0a;
/** A longer line is refused, so that memory stays bounded. */
export const LONGEST_LINE = 1_048_576;

/**
 * A block: whole lines, or the start of one line that is longer than `LONGEST_LINE`. The last line may have no line
 * break.
 */
export interface LineBlock {
  bytes: Buffer;
  /** Where the block begins in the file, in bytes. */
  from: number;
  /** Number of its first line, from 1. */
  line: number;
}

/** Cuts bytes into blocks after line breaks (LF; a CR before it stays part of the line). */
export async function* lineBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<LineBlock> {
  let rest: Buffer = Buffer.alloc(0);
  let from = 0;
  let line = 1;
  let skipping = false;
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk]);
    const start: number = skipping ? all.indexOf(LF) + 1 : 0;
    skipping &&= start === 0;
    const end = skipping ? all.length : Math.max(start, all.lastIndexOf(LF) + 1);
    if (!skipping && end > start) {
      const block = { bytes: all.subarray(start, end), from: from + start, line };
      yield block;
      line = nextLine(block);
    }
    rest = all.subarray(end);
    from += end;
    if (rest.length <= LONGEST_LINE) continue;
    yield { bytes: rest, from, line };
    line += 1;
    skipping = true;
    from += rest.length;
    rest = Buffer.alloc(0);
  }
  if (rest.length > 0) yield { bytes: rest, from, line };
}

/** The number of the line after a block. */
export function nextLine({ bytes, line }: LineBlock): number {
  let next = bytes.at(-1) === LF ? line : line + 1;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) next += 1;
  return next;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Where the text of a block begins. A file may begin with two byte order marks, because two programs have added one.
 */
export function textStart({ bytes, from }: LineBlock): number {
  let at = 0;
  while (from === 0 && bytes.subarray(at, at + 3).equals(BYTE_ORDER_MARK)) at += 3;
  return at;
}

/** The lines of one block, each as a block without its line break and without byte order marks. */
export function* linesIn(block: LineBlock): Generator<LineBlock, void> {
  const { bytes, from } = block;
  let at = textStart(block);
  for (let line = block.line; at < bytes.length; line += 1) {
    const found = bytes.indexOf(LF, at);
    const end = found === -1 ? bytes.length : found;
    yield { bytes: bytes.subarray(at, end), from: from + at, line };
    at = end + 1;
  }
}

/** Passes all bytes on, and adds their length and CRC-32 to `total`. */
export async function* measured(
  pieces: AsyncIterable<string | Uint8Array>,
  total: { bytes: number; crc32: number },
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    total.bytes += bytes.byteLength;
    total.crc32 = crc32(bytes, total.crc32);
    yield bytes;
  }
}
