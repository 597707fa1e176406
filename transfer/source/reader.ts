import { crc32 } from 'node:zlib';
import { FORGIVEN_BYTES, RetryableError, RetryBudget, StartOver } from '../base/retry.ts';
import { TransferError } from '../base/transfer-error.ts';
import { Body } from './body.ts';
import { type Opened, openSource, type Range, type Source } from './open.ts';

/** Bytes of the file in order, however often the connection behind them has to be opened anew. */
export interface Reader {
  /** Where the next byte stands in the file. */
  readonly offset: number;
  /**
   * At most `most` bytes; `null` at the end. What is here already comes at once: a promise for each of 65,000 chunks of a
   * GiB is felt. @throws TransferError, StartOver
   */
  read(most: number): Buffer | Promise<Buffer | null>;
  rewind(offset: number): void;
  close(): void;
}

/** The first answer, of which some bytes may have been looked at and given back. */
export interface Probe {
  opened: Opened;
  body: Body;
}

/** What both readers share: one connection at a time, leftovers, and a budget for failures. */
abstract class ResumingReader implements Reader {
  offset: number;
  /** Some of what was delivered had no other end than that of its connection. */
  undeclaredEnd = false;
  protected readonly source: Source;
  protected busy: (() => void) | undefined;
  readonly #budget: RetryBudget;
  #opened: Probe | undefined;
  #rest: Buffer | undefined;

  constructor(source: Source, offset: number) {
    this.source = source;
    this.offset = offset;
    this.#budget = new RetryBudget(source);
  }

  read(most: number): Buffer | Promise<Buffer | null> {
    const chunk = this.#rest ?? this.#opened?.body.take();
    if (!chunk) return this.#next().then((next) => next && this.#piece(next, most));
    if (chunk !== this.#rest) this.#budget.moved(chunk.length);
    return this.#piece(chunk, most);
  }

  #piece(chunk: Buffer, most: number): Buffer {
    const piece = chunk.length > most ? chunk.subarray(0, most) : chunk;
    this.#rest = chunk.length > most ? chunk.subarray(most) : undefined;
    this.offset += piece.length;
    return piece;
  }

  /** Goes back to an earlier byte, to deliver again what came after it. */
  rewind(offset: number): void {
    this.close();
    this.offset = offset;
  }

  close(): void {
    this.#opened?.body.close();
    this.#opened = undefined;
    this.#rest = undefined;
  }

  /** Takes over an answer of which nothing was delivered from here yet. */
  protected adopt(probe: Probe): void {
    this.undeclaredEnd ||= probe.opened.undeclaredEnd;
    this.#opened = probe;
  }

  /** Opens the file so that its next byte is that of `offset`, and adopts the answer. */
  protected abstract open(): Promise<void>;
  /** Whether `offset` is where the bytes asked for end, as far as that is known before the body ends. */
  protected abstract atEnd(): boolean;
  /** Whether the end of the body is looked at too, not only the last byte. */
  protected readonly readsEnd: boolean = false;

  async #next(): Promise<Buffer | null> {
    for (;;) {
      if (!this.readsEnd && this.atEnd()) return null;
      try {
        const chunk = await this.#chunk();
        if (chunk !== undefined) return chunk;
      } catch (error) {
        this.close();
        if (!(error instanceof RetryableError)) throw error;
        if (error.reason === 'rate-limited' || error.reason === 'source-unavailable') this.busy?.();
        await this.#budget.spend(error);
      }
    }
  }

  /** `null` at the end of the bytes asked for, `undefined` where another connection has to go on. */
  async #chunk(): Promise<Buffer | null | undefined> {
    if (!this.#opened) await this.open();
    const chunk = await this.#opened?.body.next();
    if (!chunk) return this.#ended() ? null : undefined;
    this.#budget.moved(chunk.length);
    return chunk;
  }

  /** The body is at its end. Whether the bytes asked for are as well; else the next connection goes on. */
  #ended(): boolean {
    const { from = 0, to = null, short = false } = this.#opened?.opened ?? {};
    this.close();
    if (to !== null && this.offset !== to)
      throw new RetryableError('incomplete', `The file ended after ${this.offset} of ${to} bytes.`);
    // An origin may give less than it is asked for, but must bring the file on by it.
    if (short && to !== null && to - from < FORGIVEN_BYTES)
      throw new RetryableError('incomplete', `The file server sent ${to - from} bytes of a longer range.`);
    return this.atEnd();
  }
}

/** A contiguous piece of a file whose origin supports ranges and has a strong ETag. */
export class RangedReader extends ResumingReader {
  readonly #file: { etag: string; size: number };
  #to: number;

  /** @param start `busy` is told when the origin asks to be left in peace. */
  constructor(
    source: Source,
    file: { etag: string; size: number },
    range: { from: number; to: number },
    start: { probe?: Probe | undefined; busy?: () => void } = {},
  ) {
    super(source, range.from);
    this.#file = file;
    this.#to = range.to;
    this.busy = start.busy;
    if (start.probe) this.adopt(start.probe);
  }

  protected override async open(): Promise<void> {
    const { etag, size } = this.#file;
    const range: Range = { from: this.offset, to: this.#to };
    const opened = await openSource(this.source, range, etag);
    if (opened.head.length !== size) {
      opened.body.destroy();
      throw new StartOver('The file at the origin has another size than before.');
    }
    // Asked for from byte 0, an origin may send all of it; that is no range, but right.
    this.adopt({ opened, body: new Body(opened.body, this.source) });
  }

  protected override atEnd(): boolean {
    return this.offset >= this.#to;
  }
}

/**
 * A file whose origin gives it only from its start. Opened anew, it is read from the start again: what was delivered before
 * is skipped, and must have the same checksum, or the file has changed.
 */
export class WholeReader extends ResumingReader {
  protected override readonly readsEnd = true;
  readonly #size: number | null;
  readonly #deliveredCrc32: () => number;

  /** @param deliveredCrc32 CRC-32 of the first `offset` bytes, which the caller measures anyway. */
  constructor(
    source: Source,
    size: number | null,
    deliveredCrc32: () => number,
    start: { offset: number; probe?: Probe | undefined },
  ) {
    super(source, start.offset);
    this.#size = size;
    this.#deliveredCrc32 = deliveredCrc32;
    if (start.probe) this.adopt(start.probe);
  }

  protected override async open(): Promise<void> {
    const opened = await openSource(this.source, undefined, null);
    if (opened.head.length !== this.#size) {
      opened.body.destroy();
      throw new StartOver('The file at the origin has another size than before.');
    }
    const body = new Body(opened.body, this.source);
    await this.#skip(body);
    this.adopt({ opened, body });
  }

  async #skip(body: Body): Promise<void> {
    let measured = 0;
    let left = this.offset;
    while (left > 0) {
      const chunk = await body.next();
      if (!chunk) throw new StartOver('The file at the origin is shorter than before.');
      const known = chunk.subarray(0, left);
      measured = crc32(known, measured);
      left -= known.length;
      if (known.length < chunk.length) body.unread(chunk.subarray(known.length));
    }
    if (measured !== this.#deliveredCrc32()) throw new StartOver('The file at the origin is another than before.');
  }

  /** Reads what must be the end. @throws TransferError `incomplete` where more comes than was declared */
  async finish(): Promise<void> {
    if (await this.read(1)) throw new TransferError('incomplete', 'The file is longer than its origin declared.');
  }

  protected override atEnd(): boolean {
    return this.#size === null || this.offset >= this.#size;
  }
}
