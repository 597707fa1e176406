import { RandomAccessReader } from 'yauzl';
import type { ByteSource } from '../files/byte-source.ts';

/** Each read from the bucket is a request: the directory of most archives, or all of a small one, comes with the first. */
const BLOCK_BYTES = 1024 * 1024;

/** Gives yauzl the small pieces that it asks for, out of larger blocks. */
export class ZipBytes extends RandomAccessReader {
  /** What reading the source threw, if it did. */
  failure: unknown;
  /** The newest block stands last. */
  private blocks: { from: number; bytes: Uint8Array }[] = [];
  private readonly source: ByteSource;

  constructor(source: ByteSource) {
    super();
    this.source = source;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.piece(position, length).then(
      (bytes) => {
        buffer.set(bytes, offset);
        callback(null);
      },
      (error) => {
        this.failure = error;
        callback(error);
      },
    );
  }

  /** @param to not included */
  async *range(from: number, to: number): AsyncGenerator<Uint8Array> {
    const block = this.blocks.find(({ from: start, bytes }) => start <= from && from < start + bytes.length);
    const known = block?.bytes.subarray(from - block.from, to - block.from);
    if (known) yield known;
    const next = from + (known?.length ?? 0);
    if (next < to) yield* this.source.read(next, to);
  }

  /** @throws RangeError beyond the end; what reading the source throws */
  async piece(position: number, length: number): Promise<Uint8Array> {
    const end = position + length;
    if (position < 0 || end > this.source.size) throw new RangeError('behind the end of the file');
    const known = this.blocks.find(({ from, bytes }) => from <= position && end <= from + bytes.length);
    const block = known ?? (await this.load(position, length));
    return block.bytes.subarray(position - block.from, end - block.from);
  }

  /** A block that reaches to the end of the file begins before the place: the directory is read forwards from there. */
  private async load(position: number, length: number): Promise<{ from: number; bytes: Uint8Array }> {
    const { size } = this.source;
    const to = Math.min(size, position + Math.max(length, BLOCK_BYTES));
    const from = Math.min(position, Math.max(0, to - BLOCK_BYTES));
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.source.read(from, to)) chunks.push(chunk);
    const block = { from, bytes: Buffer.concat(chunks) };
    if (block.bytes.length !== to - from) throw new RangeError('the source has given too few bytes');
    this.blocks = [...this.blocks.slice(-1), block];
    return block;
  }
}
