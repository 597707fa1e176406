import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BLOCK_BYTES = 64 * 1024;
const LINE_BYTES = 64;
const STAMP_BYTES = 16;
/** The header of a CSV file with the columns that test runs request. */
const HEADER = 'id,name\r\n';
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789,,;ABCDEFGHIJKLMNOPQRSTUVWXY';
const blocks = new Map<number, Buffer>();

/**
 * The bytes of a made-up file from one offset up to, not including, another, in pieces of at most 64 KiB. The same
 * block of lines repeats, but each starts with its number, and the first with a header, so that no two byte ranges are
 * equal.
 */
export function* contentBytes(seed: number, from: number, to: number): Generator<Buffer> {
  const block = blockOf(seed);
  for (let at = from; at < to; ) {
    const number = Math.floor(at / BLOCK_BYTES);
    const start = at - number * BLOCK_BYTES;
    const end = Math.min(BLOCK_BYTES, to - number * BLOCK_BYTES);
    const piece = Buffer.from(block.subarray(start, end));
    const stamp = (number === 0 ? HEADER : number.toString(16).padStart(STAMP_BYTES, '0')).slice(start);
    if (start < STAMP_BYTES) piece.write(stamp.slice(0, piece.length), 0, 'latin1');
    yield piece;
    at += piece.length;
  }
}

/** A whole file in memory, to compare small files. */
export function wholeContent(seed: number, size: number): Buffer {
  return Buffer.concat([...contentBytes(seed, 0, size)]);
}

/** The digests of a correct copy of a file. */
export function digestsOf(seed: number, size: number): { sha256: string; crc32: number } {
  const hash = createHash('sha256');
  let value = 0;
  for (const piece of contentBytes(seed, 0, size)) {
    hash.update(piece);
    value = crc32(piece, value);
  }
  return { sha256: hash.digest('hex'), crc32: value };
}

function blockOf(seed: number): Buffer {
  const made = blocks.get(seed) ?? makeBlock(seed);
  blocks.set(seed, made);
  return made;
}

function makeBlock(seed: number): Buffer {
  const bytes = Buffer.alloc(BLOCK_BYTES);
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0 || 1;
  for (let at = 0; at < BLOCK_BYTES; at++) {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[at] = at % LINE_BYTES === LINE_BYTES - 1 ? 10 : ALPHABET.charCodeAt(state & 63);
  }
  return bytes;
}
