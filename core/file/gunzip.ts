import { createGunzip, type Gunzip } from 'node:zlib';
import { UnreadableFile } from './unreadable-file.ts';

/** Size of the unpacked pieces. */
const PIECE_BYTES = 128 * 1024;

/**
 * Unpacks gzip with all of its members. The trailer of each member verifies size and CRC-32. Zeros may follow the last.
 * @throws UnreadableFile if it is cut off, damaged or followed by other bytes; any error from reading the bytes
 */
export async function* gunzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  const feeding = feed(gunzip, bytes);
  // The reader of the content receives an error from the source.
  feeding.catch((error: Error) => gunzip.destroy(error));
  try {
    for await (const piece of gunzip) yield piece;
    await feeding;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'Z_BUF_ERROR') throw new UnreadableFile('is gzip that is cut off');
    throw code.startsWith('Z_') ? new UnreadableFile(DAMAGED) : error;
  } finally {
    gunzip.destroy();
  }
}

const DAMAGED = 'is gzip that is damaged, or has other bytes behind its end';

async function feed(gunzip: Gunzip, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let goOn = () => {};
  // Ends a pending write if gunzip closes early: its callback would not come.
  gunzip.once('close', () => goOn());
  const write = (chunk: Uint8Array) =>
    new Promise<void>((resolve) => {
      goOn = resolve;
      gunzip.write(chunk, () => resolve());
    });
  let fed = 0;
  let ended = false;
  for await (const chunk of bytes) {
    if (ended) refuseOthers(chunk);
    else if (gunzip.destroyed) return;
    else {
      await write(chunk);
      fed += chunk.length;
      // Node's gunzip stops at zeros after a member.
      ended = gunzip.bytesWritten < fed;
      if (ended) refuseOthers(chunk.subarray(chunk.length - (fed - gunzip.bytesWritten)));
    }
  }
  if (!gunzip.destroyed) gunzip.end();
}

function refuseOthers(bytes: Uint8Array): void {
  if (bytes.some((byte) => byte !== 0)) throw new UnreadableFile(DAMAGED);
}

/** Flags of the header of a member, and the bytes before its optional fields (RFC 1952, 2.3). */
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;
const HEADER_BYTES = 10;
/** An extra field without text: the size of a block, as bgzip writes it. */
const BLOCK_SIZE = '\x06\0BC\x02\0';
/** A longer name is a text. */
const LONGEST_NAME = 255;

/**
 * The texts in the header of the first member. zlib does not show the headers of later members.
 * @returns `name`: of the packed file, '' without one; `others`: a comment or an extra field may hold text
 */
export function gzipHeader(first: Uint8Array): { name: string; others: boolean } {
  const header = Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  const flags = header[3] ?? 0;
  const hasExtra = (flags & HAS_EXTRA) !== 0;
  const from = HEADER_BYTES + (hasExtra ? 2 + header.readUInt16LE(HEADER_BYTES) : 0);
  const field = (flags & HAS_NAME) === 0 ? '' : header.toString('latin1', from, from + LONGEST_NAME + 1);
  const [name = ''] = field.split('\0', 1);
  const isText = hasExtra && !header.toString('latin1', HEADER_BYTES, from).startsWith(BLOCK_SIZE);
  return { name, others: isText || name.length > LONGEST_NAME || (flags & HAS_COMMENT) !== 0 };
}
