import { type Part, partsOf, type StoredPart } from '../base/parts.ts';
import { TransferError } from '../base/transfer-errors.ts';
import type { Resume, TransferOptions } from '../base/types.ts';
import type { Opened } from '../source/open.ts';
import { type Reader, rangedReader } from '../source/reader.ts';
import { type Attempt, movePart } from './attempt.ts';

type RangedUpload = Resume & { etag: string; size: number };

/**
 * Fetches a file with several long GETs at once, each cut into parts that stream through.
 * @returns the parts in the store: all of them, unless time was up
 */
export async function fetchRanged(
  attempt: Attempt,
  upload: RangedUpload,
  before: readonly StoredPart[],
  first?: Opened,
): Promise<StoredPart[]> {
  return new RangedFetch(attempt, upload, before, first).run();
}

class RangedFetch {
  readonly #stored: StoredPart[];
  readonly #attempt: Attempt;
  readonly #upload: RangedUpload;
  readonly #segments: Segments;
  readonly #connections: Connections;
  readonly #workers: Promise<void>[] = [];
  #active = 0;
  #first: Opened | undefined;

  constructor(attempt: Attempt, upload: RangedUpload, before: readonly StoredPart[], first: Opened | undefined) {
    const parts = partsOf(upload.size, upload.partBytes);
    const stored = new Map(before.map((part) => [part.number, part]));
    const isStored = ({ number, from, to }: Part) => stored.get(number)?.bytes === to - from;
    this.#attempt = attempt;
    this.#upload = upload;
    this.#stored = parts.filter(isStored).flatMap(({ number }) => stored.get(number) ?? []);
    const missing = parts.filter((part) => !isStored(part));
    this.#connections = new Connections(attempt.options.connections);
    this.#segments = new Segments(missing, this.#connections.wanted);
    this.#first = first;
    for (const { bytes } of this.#stored) attempt.stored(bytes, upload.size);
  }

  async run(): Promise<StoredPart[]> {
    const { measureMs } = this.#attempt.context.limits;
    let moved = this.#attempt.moved;
    const timer = setInterval(() => {
      this.#connections.measured(((this.#attempt.moved - moved) * 1000) / measureMs);
      moved = this.#attempt.moved;
      this.#startWorkers();
    }, measureMs);
    try {
      do {
        this.#startWorkers();
        await Promise.all(this.#workers);
        // Workers that started in the meantime may still be active.
      } while (this.#active > 0 || (this.#attempt.mayBegin() && this.#segments.left));
      return this.#stored;
    } catch (error) {
      this.#attempt.stop(error);
      await Promise.allSettled(this.#workers);
      throw error;
    } finally {
      clearInterval(timer);
      this.#first?.body.close();
    }
  }

  /** Starts one worker for each wanted connection. */
  #startWorkers(): void {
    while (this.#active < this.#connections.wanted) {
      const segment = this.#attempt.mayBegin() ? this.#segments.take() : undefined;
      if (!segment) return;
      this.#active += 1;
      const worker = this.#work(segment).finally(() => {
        this.#active -= 1;
      });
      worker.catch(() => undefined);
      this.#workers.push(worker);
    }
  }

  /** Fetches segments in turn until no segment is left, time is up, or there is one connection too many. */
  async #work(first: Segment): Promise<void> {
    for (let segment: Segment | undefined = first; segment; segment = this.#segments.take()) {
      await this.#fetch(segment);
      // Parts that have not begun are left to other connections; `run` waits for free segments.
      segment.taken = false;
      if (this.#active > this.#connections.wanted || !this.#attempt.mayBegin()) return;
    }
  }

  async #fetch({ parts }: Segment): Promise<void> {
    let reader: Reader | undefined;
    let part: Part | undefined;
    try {
      while (this.#attempt.mayBegin() && this.#active <= this.#connections.wanted) {
        part = parts.shift();
        if (!part) return;
        if (reader?.offset !== part.from) {
          reader?.close();
          reader = this.#readerFor(part.from, contiguousEnd(part, parts));
        }
        this.#stored.push(await movePart(this.#attempt, this.#upload, reader, part));
      }
    } catch (error) {
      // If more connections are active than wanted, the others take the part of this one. Otherwise its failure is
      // final.
      const overload =
        error instanceof TransferError && (error.reason === 'rate-limited' || error.reason === 'source-unavailable');
      if (!overload || !part || this.#active <= this.#connections.wanted) throw error;
      parts.unshift(part);
    } finally {
      reader?.close();
    }
  }

  #readerFor(from: number, to: number): Reader {
    const first = from === 0 ? this.#first : undefined;
    if (first) this.#first = undefined;
    const onOverload = () => this.#connections.overloaded();
    return rangedReader(this.#attempt.source, this.#upload, { from, to }, { first, onOverload });
  }
}

/** The end of the range that begins with a part and that the following parts continue without a gap. */
export function contiguousEnd({ to }: Part, following: readonly Part[]): number {
  const gap = following.findIndex(({ from }, index) => from !== (following[index - 1]?.to ?? to));
  return (gap < 0 ? following.at(-1) : following[gap - 1])?.to ?? to;
}

/** Parts that have not begun, which one connection fetches in order. */
interface Segment {
  parts: Part[];
  /** Whether a connection works on this segment. */
  taken: boolean;
}

/** The missing parts. An idle connection takes half of the longest remaining segment, so that all end together. */
class Segments {
  readonly #segments: Segment[];

  constructor(parts: readonly Part[], connections: number) {
    const count = Math.min(connections, parts.length);
    const cut = (index: number) => Math.round((index * parts.length) / count);
    this.#segments = Array.from({ length: count }, (_, index) => ({
      parts: parts.slice(cut(index), cut(index + 1)),
      taken: false,
    }));
  }

  /** Returns a segment to work on; `undefined` if every part has begun. */
  take(): Segment | undefined {
    const free = this.#segments.find(({ taken, parts }) => !taken && parts.length > 0) ?? this.#steal();
    if (free) free.taken = true;
    return free;
  }

  /** Whether a part is left that has not begun. */
  get left(): boolean {
    return this.#segments.some(({ parts }) => parts.length > 0);
  }

  /** Takes half of the longest segment. A single remaining part is not worth another connection. */
  #steal(): Segment | undefined {
    const longest = this.#segments.toSorted((a, b) => b.parts.length - a.parts.length)[0]?.parts ?? [];
    if (longest.length < 3) return undefined;
    const half = { parts: longest.splice(Math.floor(longest.length / 2)), taken: false };
    this.#segments.push(half);
    return half;
  }
}

/** The network of a function at every memory size: about 600 Mbit/s. */
const LAMBDA_BYTES_PER_SECOND = 70 * 1024 * 1024;
/** How many connections to add at once. */
const STEP = 2;
/** An addition was useful if the total rate rose by this factor. */
const WORTH = 1.1;

/** Chooses the number of connections: more while the total rate rises, half after overload. */
export class Connections {
  #most: number;
  #rate = 0;
  wanted: number;

  constructor({ initial, most }: TransferOptions['connections']) {
    this.#most = most;
    this.wanted = Math.min(initial, most);
  }

  /** @param bytesPerSecond the total rate since the last measurement */
  measured(bytesPerSecond: number): void {
    // At the beginning the rate is 0, and silence must not count as a rise.
    const useful = bytesPerSecond > 0 && bytesPerSecond >= this.#rate * WORTH;
    this.#rate = bytesPerSecond;
    if (useful && bytesPerSecond < LAMBDA_BYTES_PER_SECOND) this.wanted = Math.min(this.wanted + STEP, this.#most);
  }

  /** The origin answered 429 or 503: no connection is added for the rest of the transfer. */
  overloaded(): void {
    this.#most = Math.max(1, Math.floor(this.wanted / 2));
    this.wanted = this.#most;
  }
}
