import { crc32 } from 'node:zlib';

const LF = 0x0a;
/** A longer line is refused, so that memory stays bounded. */
export const LONGEST_LINE = 1_048_576;

/** A line of a file, without its line break (LF; a CR before it stays) and without byte order marks. */
export interface Line {
  /** The bytes of the line; a line longer than `LONGEST_LINE` may be cut. */
  bytes: Buffer;
  /** Where the line begins in the file, in bytes. */
  from: number;
  /** The number of the line, from 1. */
  line: number;
}

/**
 * Cuts bytes into lines. It returns the lines of each piece together, because waiting for every line takes longer.
 * @param start where the bytes begin in their file
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>, start = { from: 0, line: 1 }): AsyncGenerator<Line[]> {
  let { from, line } = start;
  let rest: Buffer = Buffer.alloc(0);
  let isSkipping = false;
  for await (const piece of bytes) {
    const all = Buffer.concat([rest, piece]);
    const lines: Line[] = [];
    let at = 0;
    for (let end = all.indexOf(LF); end !== -1; end = all.indexOf(LF, at)) {
      if (!isSkipping) lines.push(lineAt(all.subarray(at, end), from + at, line));
      isSkipping = false;
      line += 1;
      at = end + 1;
    }
    rest = all.subarray(at);
    from += at;
    if (isSkipping || rest.length > LONGEST_LINE) {
      if (!isSkipping) lines.push(lineAt(rest, from, line));
      isSkipping = true;
      from += rest.length;
      rest = Buffer.alloc(0);
    }
    yield lines;
  }
  if (rest.length > 0) yield [lineAt(rest, from, line)];
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** A file may begin with two byte order marks, because two programs have added one. */
function lineAt(bytes: Buffer, from: number, line: number): Line {
  let marks = 0;
  while (from === 0 && bytes.subarray(marks, marks + 3).equals(BYTE_ORDER_MARK)) marks += 3;
  return { bytes: bytes.subarray(marks), from: from + marks, line };
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
