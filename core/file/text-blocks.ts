const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
/** The DOS end-of-file mark. */
const END_MARK = 0x1a;

const BLOCK_BYTES = 128 * 1024;
/** Stops a file with an unclosed quotation mark before it fills the memory. */
const LARGEST_RECORD = 16 * 1024 * 1024;
/**
 * Space after the bytes of a block. It holds a line break and a quotation mark, so that the loops need no check for the
 * end of the block, and the bytes that a comparison of the first letters of a record may read.
 */
const SENTINELS = 8;
/** The most bytes of end-of-file marks and line breaks after the last record. */
const LONGEST_END = 4096;

/** Collects the chunks of a text in a block, and keeps a record that has not ended for the next block. */
export abstract class TextBlocks {
  block = Buffer.allocUnsafeSlow(BLOCK_BYTES + SENTINELS);
  /** A DOS end-of-file mark occurs before the end of the text. */
  endMarkInside = false;
  #filled = 0;

  /**
   * Reads the records of the block. A line break and a quotation mark stand at its end.
   * @param last the text ends there, so that the last record needs no line break
   * @returns the start of the first record that has not ended
   */
  protected abstract read(end: number, last: boolean): number;

  /** @throws UnreadableFile that names the limit which the current record exceeds */
  protected abstract refuse(most: string): never;

  /** @throws UnreadableFile for a record of too many bytes or cells */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === this.#capacity) this.#grow();
      const part = chunk.subarray(at, at + this.#capacity - this.#filled);
      this.block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === this.#capacity) this.flush();
    }
  }

  /** Reports the records that have ended so far. */
  flush(): void {
    const marks = this.#endMarks();
    if (marks !== -1 && this.#filled - marks > LONGEST_END) this.endMarkInside = true;
    this.#readTo(marks === -1 || this.endMarkInside ? this.#filled : marks, false);
  }

  /** Reports the last record, which needs no line break. */
  end(): void {
    const marks = this.#endMarks();
    if (marks !== -1) this.#filled = marks;
    this.#readTo(this.#filled, true);
  }

  get #capacity(): number {
    return this.block.length - SENTINELS;
  }

  #grow(): void {
    if (this.#capacity >= LARGEST_RECORD) this.refuse(`${LARGEST_RECORD / 1024 / 1024} MiB`);
    const larger = Buffer.allocUnsafeSlow(2 * this.#capacity + SENTINELS);
    larger.set(this.block.subarray(0, this.#filled));
    this.block = larger;
  }

  /** Start of the end-of-file marks and line breaks at the end of the bytes; -1 = there are none. */
  #endMarks(): number {
    const filled = this.#filled;
    const first = this.endMarkInside ? -1 : this.block.indexOf(END_MARK);
    if (first === -1 || first >= filled) return -1;
    const ends = (byte = 0) => byte === END_MARK || byte === LF || byte === CR;
    let at = first;
    while (at < filled && ends(this.block[at])) at += 1;
    if (at === filled) return first;
    this.endMarkInside = true;
    return -1;
  }

  #readTo(to: number, last: boolean): void {
    const { block } = this;
    const next = block.readUInt16LE(to);
    block[to] = LF;
    block[to + 1] = QUOTE;
    const read = this.read(to, last);
    block.writeUInt16LE(next, to);
    block.copyWithin(0, read, this.#filled);
    this.#filled -= read;
  }
}
