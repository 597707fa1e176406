import { crc32 } from 'node:zlib';

const LF = 0x0a;
/**
 * Smaller pieces are joined, for each costs a turn of the event loop; larger ones are cut to save memory (a million lines took
 * 40 MB more in pieces of 64 KiB).
 */
const PIECE = 32_768;
/** A line longer than this (1 MiB) is refused, so that memory stays bounded whatever the file holds. */
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
    [held, size] = [[], 0];
    let at = 0;
    for (; all.length - at > PIECE; at += PIECE) yield all.subarray(at, at + PIECE);
    yield all.subarray(at);
  }
  if (size > 0) yield joined(held);
}

/** Cuts bytes behind line breaks; lines are LF-terminated, and a CR before it stays part of the line. */
export async function* lineBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<LineBlock> {
  const rest = new Rest();
  for await (const piece of pieces(bytes)) {
    const fresh = rest.afterLongLine(piece);
    const cut = fresh.lastIndexOf(LF) + 1;
    if (cut > 0) yield rest.release(fresh.subarray(0, cut));
    const tooLong = rest.hold(fresh.subarray(cut));
    if (tooLong) yield tooLong;
  }
  if (rest.size > 0) yield rest.release(Buffer.alloc(0));
}

/** The lines of a file as text, without their line breaks; a byte order mark is none of the first. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  for await (const block of lineBlocks(bytes)) yield* linesIn(block);
  return undefined;
}

/** The same of one block. */
export function linesIn({ bytes, from }: LineBlock): string[] {
  const text = bytes.toString('utf8');
  const lines = (from === 0 ? text.replace(/^\uFEFF/, '') : text).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The beginning of a line whose end has not come yet. */
class Rest {
  #held: Uint8Array[] = [];
  #from = 0;
  #skipping = false;
  size = 0;

  /** What follows the line that is being skipped, if one is. */
  afterLongLine(piece: Buffer): Buffer {
    if (!this.#skipping) return piece;
    const end = piece.indexOf(LF) + 1;
    this.#skipping = end === 0;
    const skipped = end === 0 ? piece.length : end;
    this.#from += skipped;
    return piece.subarray(skipped);
  }

  hold(piece: Buffer): LineBlock | undefined {
    if (piece.length === 0) return undefined;
    this.#held.push(piece);
    this.size += piece.length;
    if (this.size <= LONGEST_LINE) return undefined;
    this.#skipping = true;
    const { from } = this.release(Buffer.alloc(0));
    return { bytes: Buffer.alloc(0), from, tooLong: true };
  }

  release(end: Buffer): LineBlock {
    const block = { bytes: joined([...this.#held, end]), from: this.#from, tooLong: false };
    this.#from += this.size + end.length;
    [this.#held, this.size] = [[], 0];
    return block;
  }
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
