import { crc32 } from 'node:zlib';
import { PROGRESS_BYTES, RetryBudget } from '../base/retry.ts';
import { RetryableError, StartOver, TransferError } from '../base/transfer-errors.ts';
import type { Blocks } from './blocks.ts';
import type { Range } from './file-answers.ts';
import { type Opened, openSource, type Source } from './open.ts';

/** The differences between the kinds of readers. */
interface Kind {
  /** Opens a connection whose next byte is the one at `offset`. */
  open: (offset: number) => Promise<Opened>;
  /** The end of the bytes to read; `null` if only the end of the body shows it. */
  end: number | null;
  /** Whether to read the end of the body, too, and not only the last byte. */
  readsEnd: boolean;
  /** Called when the origin reports overload. */
  onOverload?: (() => void) | undefined;
}

/** Reads bytes of the file in order, over one connection after the other, with a budget for failures. */
export class Reader {
  /** Position of the next byte in the file. */
  offset: number;
  /** Whether only the closing of its connection ended a body that was read. */
  undeclaredEnd = false;
  readonly #kind: Kind;
  readonly #budget: RetryBudget;
  #current: Opened | undefined;

  constructor(source: Source, offset: number, kind: Kind, first: Opened | undefined) {
    this.offset = offset;
    this.#kind = kind;
    this.#budget = new RetryBudget(source);
    if (first) this.#adopt(first);
  }

  /**
   * Reads at most `most` bytes; `null` at the end. Bytes that have already arrived are returned without a promise: one
   * promise for each of the 65,000 chunks of a GiB costs time.
   * @throws TransferError, StartOver
   */
  read(most: number): Buffer | Promise<Buffer | null> {
    const chunk = this.#current?.body.take();
    if (!chunk) return this.#next().then((next) => next && this.#piece(next, most));
    this.#budget.moved(chunk.length);
    return this.#piece(chunk, most);
  }

  #piece(chunk: Buffer, most: number): Buffer {
    const piece = chunk.length > most ? chunk.subarray(0, most) : chunk;
    if (piece.length < chunk.length) this.#current?.body.unread(chunk.subarray(most));
    this.offset += piece.length;
    return piece;
  }

  /** Goes back to an earlier byte and reads again from there. */
  rewind(offset: number): void {
    this.close();
    this.offset = offset;
  }

  close(): void {
    this.#current?.body.close();
    this.#current = undefined;
  }

  /** Reads the end. @throws TransferError `incomplete` if the file is longer than declared */
  async finish(): Promise<void> {
    if (await this.read(1)) throw new TransferError('incomplete', 'The file is longer than its origin declared.');
  }

  get #isAtEnd(): boolean {
    return this.#kind.end === null || this.offset >= this.#kind.end;
  }

  #adopt(next: Opened): void {
    this.undeclaredEnd ||= next.undeclaredEnd;
    this.#current = next;
  }

  async #next(): Promise<Buffer | null> {
    for (;;) {
      if (!this.#kind.readsEnd && this.#isAtEnd) return null;
      try {
        const chunk = await this.#chunk();
        if (chunk !== undefined) return chunk;
      } catch (error) {
        this.close();
        if (!(error instanceof RetryableError)) throw error;
        if (error.reason === 'rate-limited' || error.reason === 'source-unavailable') this.#kind.onOverload?.();
        await this.#budget.waitAfter(error);
      }
    }
  }

  /** Returns `undefined` if another connection has to continue. */
  async #chunk(): Promise<Buffer | null | undefined> {
    if (!this.#current) this.#adopt(await this.#kind.open(this.offset));
    const chunk = await this.#current?.body.next();
    if (!chunk) return this.#ended() ? null : undefined;
    this.#budget.moved(chunk.length);
    return chunk;
  }

  /** Closes the finished body. Returns whether this is the end of the range to read. */
  #ended(): boolean {
    const { from = 0, to = null, short = false } = this.#current ?? {};
    this.close();
    if (to !== null && this.offset !== to) {
      throw new RetryableError('incomplete', `The file ended after ${this.offset} of ${to} bytes.`);
    }
    // An origin may send less than requested, but each response must have at least `PROGRESS_BYTES`.
    if (short && to !== null && to - from < PROGRESS_BYTES) {
      throw new RetryableError('incomplete', `The file server sent ${to - from} bytes of a longer range.`);
    }
    return this.#isAtEnd;
  }
}

/** A contiguous piece of a file whose origin supports ranges and has a strong ETag. */
export function rangedReader(
  source: Source,
  { etag, size }: { etag: string; size: number },
  { from, to }: { from: number; to: number },
  { first, onOverload }: { first?: Opened | undefined; onOverload?: () => void },
): Reader {
  const open = (offset: number) => openSized(source, { from: offset, to }, etag, size);
  return new Reader(source, from, { open, end: to, readsEnd: false, onOverload }, first);
}

/**
 * Reads a file from its start only. After a break, it starts again: it skips the bytes up to `offset`, which must have
 * the same checksum as before.
 * @param crc32Before CRC-32 of the bytes that were read, which the caller computes anyway
 */
export function wholeReader(
  source: Source,
  size: number | null,
  crc32Before: () => number,
  { offset, first }: { offset: number; first?: Opened | undefined },
): Reader {
  const open = async (bytes: number) => {
    const next = await openSized(source, undefined, null, size);
    const checksum = await skip(next, bytes, source.blocks);
    if (checksum !== crc32Before()) throw new StartOver('The file at the origin has changed.');
    return next;
  };
  return new Reader(source, offset, { open, end: size, readsEnd: true }, first);
}

/** GETs a range, or all, of a file, and checks its size against the known one. */
async function openSized(
  source: Source,
  range: Range | undefined,
  etag: string | null,
  size: number | null,
): Promise<Opened> {
  const opened = await openSource(source, range, etag);
  if (opened.head.length !== size) {
    opened.body.close();
    throw new StartOver('The file at the origin has another size than before.');
  }
  return opened;
}

/** Reads the given number of bytes and returns their CRC-32. */
async function skip({ body }: Opened, bytes: number, blocks: Blocks): Promise<number> {
  let checksum = 0;
  for (let left = bytes; left > 0; ) {
    const chunk = await body.next();
    if (!chunk) throw new StartOver('The file at the origin is shorter than before.');
    const skipped = chunk.subarray(0, left);
    checksum = crc32(skipped, checksum);
    left -= skipped.length;
    blocks.release(skipped);
    if (skipped.length < chunk.length) body.unread(chunk.subarray(skipped.length));
  }
  return checksum;
}
