import type { ByteSource } from '../files/byte-source.ts';

/** Read at once, for reads that are smaller. */
const BLOCK_BYTES = 256 * 1024;
/** Larger reads are passed on. */
const SMALL_BYTES = 96 * 1024;

/** A source whose small reads, which come one behind the other, are answered from one block: each would be a request to S3. */
export function remembering(source: ByteSource): ByteSource {
  let [from, block]: [number, Buffer] = [0, Buffer.alloc(0)];
  async function* read(start: number, end: number): AsyncGenerator<Uint8Array> {
    if (end - start > SMALL_BYTES) {
      yield* source.read(start, end);
      return;
    }
    if (start < from || end > from + block.length) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of source.read(start, Math.min(source.size, start + BLOCK_BYTES))) chunks.push(chunk);
      [from, block] = [start, Buffer.concat(chunks)];
    }
    yield block.subarray(start - from, end - from);
  }
  return { size: source.size, read };
}
