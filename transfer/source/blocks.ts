/** A block holds eight TLS records. */
const BLOCK_BYTES = 128 * 1024;
/** Number of free blocks to keep for reuse. The garbage collector frees the others. */
const MOST_FREE = 64;

/** Memory for bytes of a body, filled from its beginning to its end. */
export class Block {
  readonly buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  filled = 0;
  taken = 0;
  released = 0;

  /** Copies as many bytes as fit and returns their number. */
  fill(bytes: Uint8Array): number {
    const part = bytes.subarray(0, BLOCK_BYTES - this.filled);
    this.buffer.set(part, this.filled);
    this.filled += part.length;
    return part.length;
  }

  /** Returns the bytes that were added since the last call. */
  take(): Buffer {
    const bytes = this.buffer.subarray(this.taken, this.filled);
    this.taken = this.filled;
    return bytes;
  }

  get full(): boolean {
    return this.filled === BLOCK_BYTES;
  }
}

/**
 * Recycled memory for the bodies of a transfer. A new buffer for every TLS record keeps V8 collecting garbage, most of
 * all with a small share of a CPU. A block is reused only when it was full and all its bytes were released. Unreleased
 * bytes, as of a closed body or a refused part, go to the garbage collector with their block. A missing release only
 * costs time. An early release would store wrong bytes under a right checksum.
 */
export class Blocks {
  readonly #free: Block[] = [];
  readonly #inUse = new WeakMap<ArrayBufferLike, Block>();

  /** An empty block. */
  next(): Block {
    const block = this.#free.pop() ?? new Block();
    this.#inUse.set(block.buffer.buffer, block);
    return block;
  }

  /** Takes back bytes that are no longer in use, from a block or from anywhere else. Call it once for each byte. */
  release(bytes: Buffer): void {
    const block = this.#inUse.get(bytes.buffer);
    if (!block) return;
    block.released += bytes.length;
    if (block.released < BLOCK_BYTES) return;
    this.#inUse.delete(block.buffer.buffer);
    if (this.#free.length >= MOST_FREE) return;
    Object.assign(block, { filled: 0, taken: 0, released: 0 });
    this.#free.push(block);
  }
}
