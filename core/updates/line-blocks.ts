import { crc32 } from 'node:zlib';

const LF = 0x0a;
/** Lines are read in blocks of about 32 KiB. Larger blocks took 40 MB more memory for a million lines. */
const BLOCK = 32_768;
/** A longer line is refused, so that memory stays bounded. */
export const LONGEST_LINE = 1_048_576;

/** Whole lines. The last line of the file may have no line break. */
export interface LineBlock {
  bytes: Buffer;
  /** Where the block begins in the file, in bytes. */
  from: number;
  /** The line is longer than `LONGEST_LINE`: `bytes` has only its start, and the next block starts after the line. */
  tooLong: boolean;
}

/** Cuts bytes into blocks after line breaks (LF; a CR before it stays part of the line). */
export async function* lineBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<LineBlock> {
  let held: Uint8Array[] = [];
  let size = 0;
  let from = 0;
  let skipping = false;
  for await (const chunk of bytes) {
    const kept = skipping ? nextLine(chunk) : chunk;
    from += chunk.byteLength - (kept?.byteLength ?? 0);
    if (!kept) continue;
    skipping = false;
    held.push(kept);
    size += kept.byteLength;
    if (!isBlock(size, kept)) continue;
    const all = joined(held);
    const cut = all.lastIndexOf(LF) + 1;
    if (cut > 0) yield { bytes: all.subarray(0, cut), from, tooLong: false };
    if (all.length - cut > LONGEST_LINE) {
      yield { bytes: all.subarray(cut, cut + BLOCK), from: from + cut, tooLong: true };
      skipping = true;
    }
    const rest = all.subarray(skipping ? all.length : cut);
    held = [rest];
    size = rest.length;
    from += all.length - size;
  }
  if (size > 0) yield { bytes: joined(held), from, tooLong: false };
}

/** Bytes after the first line break; `undefined` without one. */
function nextLine(chunk: Uint8Array): Uint8Array | undefined {
  const end = chunk.indexOf(LF);
  return end === -1 ? undefined : chunk.subarray(end + 1);
}

/** Whether the collected bytes are enough for a block. `last` are the newest of them. */
function isBlock(size: number, last: Uint8Array): boolean {
  return size > LONGEST_LINE || (size >= BLOCK && last.includes(LF));
}

/** The lines of a file as text, without line breaks and without a byte order mark. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  for await (const block of lineBlocks(bytes)) yield* linesIn(block);
  return undefined;
}

/** The lines of one block. */
export function linesIn({ bytes, from }: LineBlock): string[] {
  const text = bytes.toString('utf8');
  const lines = (from === 0 ? text.replace(/^\uFEFF/, '') : text).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function joined(parts: Uint8Array[]): Buffer {
  const [only] = parts;
  if (!only || parts.length > 1) return Buffer.concat(parts);
  return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
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
