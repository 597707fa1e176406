import { PROGRESS_BYTES, RetryBudget } from '../base/retry.ts';
import { RetryableError } from '../base/transfer-errors.ts';
import type { Opened, Source } from './open.ts';

/** The properties in which the kinds of readers differ. */
interface Kind {
  /** Opens a connection whose next byte is the one at `offset`. */
  open: (offset: number) => Promise<Opened>;
  /** The end of the bytes to read; `null` if only the end of the body shows it. */
  end: number | null;
  /** Called when the origin reports overload. An error that it throws ends the reading. */
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
    this.#current = first;
  }

  /**
   * Reads at most `most` bytes; `null` at the end. Bytes that have already arrived are returned without a promise: one
   * promise for each of the 65,000 chunks of a GiB costs time.
   * @throws TransferError
   */
  read(most: number): Buffer | Promise<Buffer | null> {
    const chunk = this.#current?.body.take();
    return chunk ? this.#piece(chunk, most) : this.#next().then((next) => next && this.#piece(next, most));
  }

  #piece(chunk: Buffer, most: number): Buffer {
    const piece = chunk.subarray(0, most);
    if (piece.length < chunk.length) this.#current?.body.unread(chunk.subarray(most));
    this.#budget.moved(piece.length);
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

  /** Waits for bytes, after a failure from another connection. */
  async #next(): Promise<Buffer | null> {
    for (;;) {
      try {
        this.#current ??= await this.#kind.open(this.offset);
        const chunk = await this.#current.body.next();
        if (chunk || this.#ended(this.#current)) return chunk;
      } catch (error) {
        this.close();
        if (!(error instanceof RetryableError)) throw error;
        if (error.reason === 'rate-limited' || error.reason === 'source-unavailable') this.#kind.onOverload?.();
        await this.#budget.waitAfter(error);
      }
    }
  }

  /** Closes a body that was read. Returns whether this is the end of the range to read. */
  #ended({ range, from, to, short, undeclaredEnd }: Opened): boolean {
    this.close();
    this.undeclaredEnd ||= undeclaredEnd;
    if (to !== null && this.offset !== to) {
      throw new RetryableError('incomplete', `The file ended after ${this.offset} of ${to} bytes.`);
    }
    // An origin may send less than requested, but each response must have at least `PROGRESS_BYTES`.
    if (short && to !== null && to - from < PROGRESS_BYTES) {
      throw new RetryableError('changed', `The file server sent ${to - from} bytes of a longer range.`);
    }
    // A body of undeclared length that is exactly as long as the requested range may be the range alone.
    return this.#kind.end === null ? this.offset !== range?.to : this.offset >= this.#kind.end;
  }
}
