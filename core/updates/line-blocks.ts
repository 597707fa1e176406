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
}

/** Cuts bytes into blocks after line breaks (LF; a CR before it stays part of the line). */
export async function* lineBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<LineBlock> {
  let rest: Buffer = Buffer.alloc(0);
  let from = 0;
  let skipping = false;
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk]);
    const start: number = skipping ? all.indexOf(LF) + 1 : 0;
    skipping &&= start === 0;
    const end = skipping ? all.length : Math.max(start, all.lastIndexOf(LF) + 1);
    if (!skipping && end > start) yield { bytes: all.subarray(start, end), from: from + start };
    rest = all.subarray(end);
    from += end;
    if (rest.length <= LONGEST_LINE) continue;
    yield { bytes: rest, from };
    skipping = true;
    from += rest.length;
    rest = Buffer.alloc(0);
  }
  if (rest.length > 0) yield { bytes: rest, from };
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

/** The lines of one block as text, without line breaks and without byte order marks. */
export function linesIn(block: LineBlock): string[] {
  const lines = block.bytes.toString('utf8', textStart(block)).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The number of lines in a block. */
export function lineCount({ bytes }: LineBlock): number {
  let count = bytes.at(-1) === LF ? 0 : 1;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
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
