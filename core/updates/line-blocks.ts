import { crc32 } from 'node:zlib';

const LF = 0x0a;
/** Each piece costs a turn of the event loop; with 64 KiB a million lines took 40 MB more of memory. */
const PIECE = 32_768;
/** A longer line is refused: memory stays bounded. */
export const LONGEST_LINE = 1_048_576;

/** Whole lines, the last one of the file perhaps without its line break. */
export interface LineBlock {
  bytes: Buffer;
  /** Where the block begins in the file, in bytes. */
  from: number;
  /** The line here is longer than `LONGEST_LINE`; `bytes` is empty, and the next block begins behind the line. */
  tooLong: boolean;
}

/** Bytes in pieces of at most 32 KiB, and of about as many. */
export async function* pieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    held.push(chunk);
    size += chunk.byteLength;
    if (size < PIECE) continue;
    const all = joined(held);
    held = [];
    size = 0;
    let at = 0;
    for (; all.length - at > PIECE; at += PIECE) yield all.subarray(at, at + PIECE);
    yield all.subarray(at);
  }
  if (size > 0) yield joined(held);
}

/** Cuts bytes behind line breaks (LF; a CR before it stays part of the line). */
export async function* lineBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<LineBlock> {
  // The beginning of a line whose end has not come yet.
  let held: Uint8Array[] = [];
  let size = 0;
  let from = 0;
  let skipping = false;
  for await (const piece of pieces(bytes)) {
    const begin: number = skipping ? piece.indexOf(LF) + 1 : 0;
    skipping = skipping && begin === 0;
    from += skipping ? piece.length : begin;
    if (skipping) continue;
    const cut = piece.lastIndexOf(LF) + 1;
    if (cut > begin) {
      const block = joined([...held, piece.subarray(begin, cut)]);
      yield { bytes: block, from, tooLong: false };
      from += block.length;
      held = [];
      size = 0;
    }
    if (cut < piece.length) held.push(piece.subarray(cut));
    size += piece.length - cut;
    if (size <= LONGEST_LINE) continue;
    yield { bytes: Buffer.alloc(0), from, tooLong: true };
    from += size;
    held = [];
    size = 0;
    skipping = true;
  }
  if (size > 0) yield { bytes: joined(held), from, tooLong: false };
}

/** The lines of a file as text, without their line breaks; a byte order mark is none of the first. */
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

/** Passes bytes on, and adds their length and CRC-32 to `total`. */
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
