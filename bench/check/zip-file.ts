import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished, pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';

/** Entries of sizes that are not known before (APPNOTE.TXT, 4.4.4, bit 3). */
const SIZES_FOLLOW = 8;
const DEFLATED = 8;

/** Writes a zip archive entry by entry, of less than 4 GiB each. */
export class ZipFileWriter {
  private readonly file: WriteStream;
  private readonly directory: Buffer[] = [];
  private at = 0;

  constructor(path: string) {
    this.file = createWriteStream(path);
  }

  /** @returns bytes of the content */
  async add(name: string, content: Iterable<string>): Promise<number> {
    const start = this.at;
    const common = [numbers(2, 20, SIZES_FOLLOW, DEFLATED, 0, 0)];
    this.write(
      Buffer.from('PK\x03\x04'),
      ...common,
      numbers(4, 0, 0, 0),
      numbers(2, name.length, 0),
      Buffer.from(name),
    );
    const from = this.at;
    let checksum = 0;
    let size = 0;
    function* bytes() {
      for (const text of content) {
        const piece = Buffer.from(text);
        checksum = crc32(piece, checksum);
        size += piece.length;
        yield piece;
      }
    }
    const deflate = createDeflateRaw({ level: 1 });
    const fed = pipeline(bytes(), deflate);
    for await (const piece of deflate) {
      this.at += piece.length;
      if (!this.file.write(piece)) await once(this.file, 'drain');
    }
    await fed;
    const known = numbers(4, checksum, this.at - from, size);
    this.write(Buffer.from('PK\x07\x08'), known);
    const listed = [numbers(2, name.length, 0, 0, 0, 0), numbers(4, 0, start), Buffer.from(name)];
    this.directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), numbers(2, 20), ...common, known, ...listed]));
    return size;
  }

  async end(): Promise<void> {
    const entries = Buffer.concat(this.directory);
    const start = this.at;
    const counts = numbers(2, 0, 0, this.directory.length, this.directory.length);
    this.write(entries, Buffer.from('PK\x05\x06'), counts, numbers(4, entries.length, start), numbers(2, 0));
    this.file.end();
    await finished(this.file);
  }

  private write(...pieces: Buffer[]): void {
    for (const piece of pieces) {
      this.at += piece.length;
      this.file.write(piece);
    }
  }
}

/** Little-endian numbers of so many bytes. */
function numbers(bytes: 2 | 4, ...values: number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [place, value] of values.entries()) buffer.writeUIntLE(value, bytes * place, bytes);
  return buffer;
}
