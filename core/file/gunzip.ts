import { crc32, createInflateRaw, type InflateRaw, inflateRawSync } from 'node:zlib';
import { UnreadableFile } from './unreadable-file.ts';

/** Size of the unpacked pieces. */
const PIECE_BYTES = 128 * 1024;

const CUT = 'is gzip that is cut off';
const DAMAGED = 'is gzip that is damaged, or has other bytes after its end';

/** The texts in the header of a gzip member. */
export interface GzipTexts {
  /** The name of the packed file; '' without one. */
  name: string;
  /** Whether a comment or an extra field may contain text. */
  others: boolean;
}

/**
 * Unpacks gzip (RFC 1952) with all of its members, and verifies size and CRC-32 of each. Zeros may follow the last
 * member. Node's own gunzip does not show the headers of the members.
 * @throws UnreadableFile if the file is cut off, damaged or followed by other bytes; any error from reading the bytes
 */
export async function* gunzipped(
  bytes: AsyncIterable<Uint8Array>,
  onHeader: (texts: GzipTexts) => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  const input = new Pieces(bytes);
  try {
    do {
      onHeader(await readHeader(input));
      let size = 0;
      let checksum = 0;
      for await (const piece of inflated(input, (code) => (code === 'Z_BUF_ERROR' ? CUT : DAMAGED))) {
        size += piece.length;
        checksum = crc32(piece, checksum);
        yield piece;
      }
      const trailer = await input.take(8);
      if (trailer.readUInt32LE(0) !== checksum || trailer.readUInt32LE(4) !== size % 2 ** 32)
        throw new UnreadableFile(DAMAGED);
    } while (!(await endsWithZeros(input)));
  } finally {
    await input.close();
  }
}

/** Flags in the header of a member, and the length of the fixed part of the header (RFC 1952, 2.3). */
const HAS_CHECKSUM = 2;
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;
const RESERVED = 0xe0;
const HEADER_BYTES = 10;
const MAGIC = Buffer.from([0x1f, 0x8b, 8]);
/** A name that is longer than this counts as a text. */
const LONGEST_NAME = 255;
/** The limit for names and comments, which are held in memory. */
const LONGEST_TEXT = 1024 * 1024;

async function readHeader(input: Pieces): Promise<GzipTexts> {
  const isMember = (await input.take(MAGIC.length)).equals(MAGIC);
  const [flags = 0] = isMember ? await input.take(HEADER_BYTES - MAGIC.length) : [RESERVED];
  if ((flags & RESERVED) !== 0) throw new UnreadableFile(DAMAGED);
  const has = (flag: number) => (flags & flag) !== 0;
  if (has(HAS_EXTRA)) await input.take((await input.take(2)).readUInt16LE());
  const name = has(HAS_NAME) ? await input.takeText() : '';
  if (has(HAS_COMMENT)) await input.takeText();
  if (has(HAS_CHECKSUM)) await input.take(2);
  return { name, others: name.length > LONGEST_NAME || has(HAS_EXTRA) || has(HAS_COMMENT) };
}

/** Whether only zeros follow, and no other member. */
async function endsWithZeros(input: Pieces): Promise<boolean> {
  let piece = await input.next();
  if (piece && piece[0] === MAGIC[0]) {
    input.putBack(piece);
    return false;
  }
  for (; piece; piece = await input.next()) {
    if (piece.some((byte) => byte !== 0)) throw new UnreadableFile(DAMAGED);
  }
  return true;
}

/** Bytes that arrive in pieces, and are taken from the front. */
export class Pieces {
  readonly #bytes: AsyncIterator<Uint8Array>;
  #first: Uint8Array = new Uint8Array();

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes[Symbol.asyncIterator]();
  }

  /** A piece that is not empty; `undefined` at the end. */
  async next(): Promise<Uint8Array | undefined> {
    let piece: Uint8Array | undefined = this.#first;
    this.#first = new Uint8Array();
    while (piece?.length === 0) piece = (await this.#bytes.next()).value;
    return piece;
  }

  putBack(piece: Uint8Array): void {
    this.#first = piece;
  }

  async take(length: number): Promise<Buffer> {
    while (this.#first.length < length) await this.#more();
    const { buffer, byteOffset } = this.#first;
    this.#first = this.#first.subarray(length);
    return Buffer.from(buffer, byteOffset, length);
  }

  /** Takes a text that ends with a 0. */
  async takeText(): Promise<string> {
    while (!this.#first.includes(0)) {
      if (this.#first.length > LONGEST_TEXT) throw new UnreadableFile(DAMAGED);
      await this.#more();
    }
    const text = await this.take(this.#first.indexOf(0) + 1);
    return text.toString('latin1', 0, text.length - 1);
  }

  async #more(): Promise<void> {
    // The next piece may overwrite this one.
    const first = Buffer.from(this.#first);
    const more = (await this.#bytes.next()).value;
    if (!more) throw new UnreadableFile(CUT);
    this.#first = Buffer.concat([first, more]);
  }

  async close(): Promise<void> {
    await this.#bytes.return?.();
  }
}

/**
 * Unpacks one deflated stream. The bytes after its end stay in `input`.
 * @param words returns what is wrong with the file, by the code of zlib's error
 * @throws UnreadableFile; any error from reading the bytes
 */
export async function* inflated(input: Pieces, words: (code: string) => string): AsyncGenerator<Uint8Array> {
  const piece = await input.next();
  const whole = piece && wholeOf(piece);
  if (piece) input.putBack(piece.subarray(whole?.engine.bytesWritten ?? 0));
  if (whole) {
    yield whole.buffer;
    return;
  }
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES });
  const feeding = feed(inflate, input);
  // Passes an error of the source on to the reader of the content.
  feeding.catch((error: Error) => inflate.destroy(error));
  try {
    for await (const piece of inflate) yield piece;
    await feeding;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_') ? new UnreadableFile(words(code)) : error;
  } finally {
    inflate.destroy();
  }
}

/** What zlib returns with the option `info`. */
interface Whole {
  buffer: Buffer;
  engine: { bytesWritten: number };
}

/** The first buffer for the content of a small stream, which rarely needs more. */
const SMALL_BYTES = 4096;

/** Unpacks a small stream within one piece. Gzip may have many: a Node.js stream for each takes ten times as long. */
function wholeOf(piece: Uint8Array): Whole | undefined {
  try {
    // The cast: the types of Node.js do not know the option `info`.
    return inflateRawSync(piece, {
      info: true,
      chunkSize: SMALL_BYTES,
      maxOutputLength: PIECE_BYTES,
    }) as unknown as Whole;
  } catch {
    // The stream is longer than the piece, large or damaged.
    return undefined;
  }
}

async function feed(inflate: InflateRaw, input: Pieces): Promise<void> {
  let goOn = () => {};
  // Ends a pending write at the end of the stream, because zlib never calls its callback.
  inflate.once('close', () => goOn());
  let fed = 0;
  for (let piece = await input.next(); piece; piece = await input.next()) {
    const { length } = piece;
    const written = piece;
    await new Promise<void>((resolve) => {
      goOn = resolve;
      if (inflate.destroyed) resolve();
      else inflate.write(written, () => resolve());
    });
    fed += length;
    const left = fed - inflate.bytesWritten;
    if (left > 0) {
      input.putBack(piece.subarray(length - left));
      return;
    }
    if (inflate.destroyed) return;
  }
  inflate.end();
}
