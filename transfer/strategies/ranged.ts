import { TransferError } from '../base/errors.ts';
import { type Part, partsOf, type StoredPart } from '../base/parts.ts';
import type { Resume } from '../base/types.ts';
import type { Opened } from '../source/open.ts';
import { type Reader, rangedReader } from '../source/reader.ts';
import type { Attempt } from './attempt.ts';
import { Connections } from './connections.ts';
import { movePart } from './part-mover.ts';
import { type Segment, Segments } from './segments.ts';

type RangedUpload = Resume & { etag: string; size: number };

/**
 * Several long GETs at once, each cut into parts that stream through.
 * @returns the parts that the store has; all of them, unless time was up.
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
    const known = new Map(before.map((part) => [part.number, part]));
    const isStored = ({ number, from, to }: Part) => known.get(number)?.bytes === to - from;
    this.#attempt = attempt;
    this.#upload = upload;
    this.#stored = parts.filter(isStored).flatMap(({ number }) => known.get(number) ?? []);
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
        // Workers that were started meanwhile may still be active.
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

  /** A worker is a connection. */
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

  /** Fetches one segment after the other, until none is left, time is up, or there is one connection too many. */
  async #work(first: Segment): Promise<void> {
    for (let segment: Segment | undefined = first; segment; segment = this.#segments.take()) {
      await this.#fetch(segment);
      // What is not begun is left to other connections; `run` waits for segments that nobody has taken.
      segment.taken = false;
      if (this.#active > this.#connections.wanted || !this.#attempt.mayBegin()) return;
    }
  }

  async #fetch(segment: Segment): Promise<void> {
    let reader: Reader | undefined;
    try {
      while (this.#attempt.mayBegin() && this.#active <= this.#connections.wanted) {
        const part = segment.begin();
        if (!part) return;
        if (reader?.offset !== part.from) {
          reader?.close();
          reader = this.#readerFor(part, segment.contiguousEnd(part));
        }
        this.#stored.push(await movePart(this.#attempt, this.#upload, reader, part));
      }
    } catch (error) {
      // An origin that refuses one connection too many: its part is left to the others. The last one's failure is final.
      const overload =
        error instanceof TransferError && (error.reason === 'rate-limited' || error.reason === 'source-unavailable');
      if (!overload || this.#active <= this.#connections.wanted) throw error;
      segment.giveBack();
    } finally {
      reader?.close();
    }
  }

  #readerFor({ from }: Part, to: number): Reader {
    const first = from === 0 ? this.#first : undefined;
    if (first) this.#first = undefined;
    const onOverload = () => this.#connections.overloaded();
    return rangedReader(this.#attempt.source, this.#upload, { from, to }, { first, onOverload });
  }
}
