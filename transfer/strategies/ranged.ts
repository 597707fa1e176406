import { measuredFrom } from '../base/crc32.ts';
import { withRetries } from '../base/retry.ts';
import { TransferError } from '../base/transfer-errors.ts';
import type { Resume, Stored, StoredPart } from '../base/types.ts';
import { type Opened, openSized } from '../source/open.ts';
import { Reader } from '../source/reader.ts';
import type { PartUpload } from '../store/store.ts';
import type { Attempt } from './attempt.ts';
import { commitParts } from './commit.ts';

/** Ends a connection that the origin refuses while others work. */
const TOO_MANY = new Error('There is one connection too many.');

type RangedUpload = Resume & { etag: string; size: number };

/** Stores a file whose origin supports ranges, with several long GETs at once. Returns `null` if time is up. */
export async function storeRanges(
  attempt: Attempt,
  upload: RangedUpload,
  before: readonly StoredPart[],
  first?: Opened,
): Promise<Stored | null> {
  const stored = await new RangedFetch(attempt, upload, before, first).run();
  return measuredFrom(stored).bytes < upload.size ? null : commitParts(attempt, upload, stored, false);
}

/** Fetches the missing parts. Each GET is cut into parts that stream through. */
class RangedFetch {
  readonly #stored: StoredPart[];
  readonly #attempt: Attempt;
  readonly #upload: RangedUpload;
  readonly #segments: Segments;
  /** How many connections to use: half as many after a 429 or 503 of the origin. */
  #wanted: number;
  #first: Opened | undefined;

  constructor(attempt: Attempt, upload: RangedUpload, before: readonly StoredPart[], first: Opened | undefined) {
    const parts = partsOf(upload.size, upload.partBytes);
    const stored = new Map(before.map((part) => [part.number, part]));
    const isStored = ({ number, from, to }: Part) => stored.get(number)?.bytes === to - from;
    this.#attempt = attempt;
    this.#upload = upload;
    this.#stored = parts.filter(isStored).flatMap(({ number }) => stored.get(number) ?? []);
    this.#wanted = attempt.options.connections;
    this.#segments = new Segments(
      parts.filter((part) => !isStored(part)),
      this.#wanted,
    );
    this.#first = first;
    for (const { bytes } of this.#stored) attempt.stored(bytes, upload.size);
  }

  /** @returns the parts in the store: all of them, unless time was up */
  async run(): Promise<StoredPart[]> {
    const workers = Array.from({ length: this.#wanted }, () => this.#work());
    try {
      await Promise.all(workers);
      return this.#stored;
    } catch (error) {
      this.#attempt.stop(error);
      await Promise.allSettled(workers);
      throw error;
    } finally {
      this.#first?.body.close();
    }
  }

  /**
   * Fetches one segment after the other over one connection. While parts are left, the last worker always continues.
   */
  async #work(): Promise<void> {
    do {
      const segment = this.#segments.taken < this.#wanted ? this.#segments.take() : undefined;
      if (!segment) return;
      try {
        await this.#fetch(segment);
      } finally {
        this.#segments.giveBack(segment);
      }
    } while (this.#attempt.mayBegin());
  }

  /** Fetches parts until none is left, time is up, or there is one connection too many. */
  async #fetch(parts: Part[]): Promise<void> {
    let reader: Reader | undefined;
    let part: Part | undefined;
    try {
      while (this.#attempt.mayBegin() && !this.#hasTooMany) {
        part = parts.shift();
        if (!part) return;
        if (reader?.offset !== part.from) {
          reader?.close();
          reader = this.#readerFor(part.from, contiguousEnd(part, parts));
        }
        this.#stored.push(await this.#movePart(reader, part));
      }
    } catch (error) {
      if (error !== TOO_MANY || !part) throw error;
      // The other connections take over the part of this connection.
      parts.unshift(part);
    } finally {
      reader?.close();
    }
  }

  get #hasTooMany(): boolean {
    return this.#segments.taken > this.#wanted;
  }

  #readerFor(from: number, to: number): Reader {
    const first = from === 0 ? this.#first : undefined;
    if (first) this.#first = undefined;
    const { source } = this.#attempt;
    const { etag, size } = this.#upload;
    // Refusals of requests that began together halve the number once.
    let wanted = this.#wanted;
    const open = (offset: number) => {
      wanted = this.#wanted;
      return openSized(source, { from: offset, to }, etag, size);
    };
    const onOverload = () => {
      this.#wanted = Math.min(this.#wanted, Math.max(1, Math.floor(wanted / 2)));
      // The refused connection ends at once. Otherwise, a working connection would end after its part.
      if (this.#hasTooMany) throw TOO_MANY;
    };
    return new Reader(source, from, { open, end: to, onOverload }, first);
  }

  /**
   * Streams one part from a reader to the store. After trouble at the origin the reader recovers and the part continues.
   * After trouble at the store the part is read and sent again.
   */
  async #movePart(reader: Reader, { number, from, to }: Part): Promise<StoredPart> {
    const { store, context } = this.#attempt;
    const began = performance.now();
    const stored = await withRetries(context, async () => {
      if (reader.offset !== from) reader.rewind(from);
      // Opening the file may take long, and the store ends a silent request: so the request waits for the first bytes.
      const first = await reader.read(to - from);
      const sent = await store.beginPart(this.#upload, { number, length: to - from });
      return await this.#stream(reader, sent, first);
    });
    this.#attempt.tookSince(began);
    this.#attempt.stored(stored.bytes, this.#upload.size);
    return stored;
  }

  async #stream(reader: Reader, sent: PartUpload, first: Buffer | null): Promise<StoredPart> {
    let read: ReturnType<typeof reader.read> | null = first;
    try {
      while (sent.left > 0) {
        const chunk = read instanceof Promise ? await read : read;
        if (!chunk) throw new TransferError('incomplete', `The file ended ${sent.left} bytes too early.`);
        const full = sent.write(chunk, () => this.#attempt.source.blocks.release(chunk));
        if (full !== undefined) await full;
        if (sent.left > 0) read = reader.read(sent.left);
      }
      return await sent.finish();
    } catch (error) {
      sent.destroy();
      throw error;
    }
  }
}

/** Bytes from `from` up to, not including, `to`. */
export interface Part {
  number: number;
  from: number;
  to: number;
}

/** All parts of a file of known size, in order. */
export function partsOf(size: number, partBytes: number): Part[] {
  return Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => ({
    number: index + 1,
    from: index * partBytes,
    to: Math.min((index + 1) * partBytes, size),
  }));
}

/** The end of the range that begins with a part and that the following parts continue without a gap. */
export function contiguousEnd({ to }: Part, following: readonly Part[]): number {
  const gap = following.findIndex(({ from }, index) => from !== (following[index - 1]?.to ?? to));
  return (gap < 0 ? following.at(-1) : following[gap - 1])?.to ?? to;
}

/** The parts that have not begun, in segments that one connection each fetches in order. */
class Segments {
  readonly #free: Part[][];
  readonly #taken = new Set<Part[]>();

  constructor(parts: readonly Part[], connections: number) {
    const count = Math.min(connections, parts.length);
    const cut = (index: number) => Math.round((index * parts.length) / count);
    this.#free = Array.from({ length: count }, (_, index) => parts.slice(cut(index), cut(index + 1)));
  }

  /** How many segments connections work on. */
  get taken(): number {
    return this.#taken.size;
  }

  /** Returns a segment to work on; `undefined` if every part has begun. */
  take(): Part[] | undefined {
    const segment = this.#free.shift() ?? this.#half();
    if (segment) this.#taken.add(segment);
    return segment;
  }

  /** Returns the parts of a segment that have not begun, for other connections. */
  giveBack(segment: Part[]): void {
    this.#taken.delete(segment);
    if (segment.length > 0) this.#free.push(segment);
  }

  /** Half of the longest segment, so that all connections end together. A single part is not worth another connection. */
  #half(): Part[] | undefined {
    const [longest = []] = [...this.#taken].toSorted((a, b) => b.length - a.length);
    return longest.length < 3 ? undefined : longest.splice(Math.floor(longest.length / 2));
  }
}
