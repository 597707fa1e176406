/** A block holds eight TLS records. */
const BLOCK_BYTES = 128 * 1024;
/** Free blocks that are kept; more are left to the garbage collector. */
const MOST_FREE = 64;

/** Memory for bytes of a body, filled from its beginning to its end. */
export class Block {
  readonly buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  filled = 0;
  taken = 0;
  released = 0;

  /** Copies what there is room for; returns how much that was. */
  fill(bytes: Uint8Array): number {
    const part = bytes.subarray(0, BLOCK_BYTES - this.filled);
    this.buffer.set(part, this.filled);
    this.filled += part.length;
    return part.length;
  }

  /** What was filled in since the last call. */
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
 * Recycled memory of the bodies of a transfer: a new buffer for every TLS record makes V8 collect garbage all the time, most of
 * all with a small share of a CPU. A block is filled again only when it was full and each of its bytes was released. What
 * nobody releases, the bytes of a body that is closed or of a part that was refused, goes to the garbage collector with its
 * block: to forget a release costs time, to release too early would store wrong bytes under a right checksum.
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

  /**
   * Takes back bytes that nobody reads any more; they may come from a block, or from anywhere else. To be called once
   * for each byte.
   */
  release(bytes: Buffer): void {
    const block = this.#inUse.get(bytes.buffer);
    if (!block) return;
    block.released += bytes.length;
    if (block.released < BLOCK_BYTES) return;
    this.#inUse.delete(block.buffer.buffer);
    if (this.#free.length >= MOST_FREE) return;
    block.filled = 0;
    block.taken = 0;
    block.released = 0;
    this.#free.push(block);
  }
}
