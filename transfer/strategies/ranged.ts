import { type Part, partsOf } from '../base/plan.ts';
import { TransferError, type TransferReason } from '../base/transfer-error.ts';
import type { Resume } from '../base/types.ts';
import { type Probe, RangedReader } from '../source/reader.ts';
import type { StoredPart } from '../store/part-upload.ts';
import type { Attempt } from './attempt.ts';
import { Connections } from './connections.ts';
import { movePart } from './move-part.ts';
import { type Run, Segments } from './segments.ts';

/** What an origin says to one connection too many. */
const REFUSALS: readonly TransferReason[] = ['rate-limited', 'source-unavailable'];

/** An upload of a file with a strong ETag and a known size. */
export type RangedUpload = Resume & { etag: string; size: number };

/**
 * Several long GETs at once, each cut into parts that stream through.
 * @returns the parts that the store has; all of them, unless time was up.
 */
export async function fetchRanged(
  attempt: Attempt,
  upload: RangedUpload,
  before: readonly StoredPart[],
  probe?: Probe,
): Promise<StoredPart[]> {
  const strategy = new RangedFetch(attempt, upload, before, probe);
  await strategy.run();
  return strategy.stored;
}

class RangedFetch {
  readonly stored: StoredPart[];
  readonly #attempt: Attempt;
  readonly #upload: RangedUpload;
  readonly #segments: Segments;
  readonly #connections: Connections;
  readonly #workers: Promise<void>[] = [];
  #active = 0;
  #probe: Probe | undefined;

  constructor(attempt: Attempt, upload: RangedUpload, before: readonly StoredPart[], probe?: Probe) {
    const parts = partsOf(upload.size, upload.partBytes);
    const known = new Map(before.map((part) => [part.number, part]));
    const whole = ({ number, from, to }: Part) => {
      const part = known.get(number);
      return part?.bytes === to - from ? part : undefined;
    };
    this.#attempt = attempt;
    this.#upload = upload;
    this.stored = parts.flatMap((part) => whole(part) ?? []);
    const missing = parts.filter((part) => !whole(part));
    this.#connections = new Connections(attempt.options.connections);
    this.#segments = new Segments(missing, this.#connections.wanted);
    this.#probe = probe;
    for (const { bytes } of this.stored) attempt.stored(bytes, upload.size);
  }

  async run(): Promise<void> {
    const { measureMs } = this.#attempt.context.limits;
    let moved = this.#attempt.moved;
    const timer = setInterval(() => {
      this.#connections.measured(((this.#attempt.moved - moved) * 1000) / measureMs);
      moved = this.#attempt.moved;
      this.#fill();
    }, measureMs);
    try {
      do {
        this.#fill();
        await Promise.all(this.#workers);
        // Connections that were added meanwhile are still at work.
      } while (this.#active > 0 || (this.#attempt.mayBegin() && this.#segments.left));
    } catch (error) {
      this.#attempt.stop(error);
      await Promise.allSettled(this.#workers);
      throw error;
    } finally {
      clearInterval(timer);
      this.#probe?.body.close();
    }
  }

  /** Opens connections up to the number that is wanted. */
  #fill(): void {
    while (this.#active < this.#connections.wanted) {
      const run = this.#attempt.mayBegin() ? this.#segments.take() : undefined;
      if (!run) return;
      this.#active += 1;
      const worker = this.#work(run).finally(() => {
        this.#active -= 1;
      });
      worker.catch(() => undefined);
      this.#workers.push(worker);
    }
  }

  /** One connection: a run of parts after the other, until none is left, time is up, or it is one too many. */
  async #work(first: Run): Promise<void> {
    for (let run: Run | undefined = first; run; run = this.#segments.take()) {
      await this.#fetch(run);
      // Always: what nobody works on must be free, or what is left would be waited for without end.
      run.release();
      if (this.#active > this.#connections.wanted || !this.#attempt.mayBegin()) return;
    }
  }

  async #fetch(run: Run): Promise<void> {
    const { store, context, source } = this.#attempt;
    const { etag, size } = this.#upload;
    let reader: RangedReader | undefined;
    try {
      while (this.#attempt.mayBegin() && this.#active <= this.#connections.wanted) {
        const part = run.begin();
        if (!part) return;
        if (reader?.offset !== part.from) {
          reader?.close();
          const range = { from: part.from, to: run.contiguousEnd(part) };
          const busy = () => this.#connections.refused();
          reader = new RangedReader(source, { etag, size }, range, { probe: this.#takeProbe(part), busy });
        }
        const began = performance.now();
        const moved = (bytes: number) => {
          this.#attempt.moved += bytes;
        };
        const stored = await this.#unlessRefused(
          run,
          movePart({ store, context, upload: this.#upload, reader, moved }, part),
        );
        if (!stored) return;
        this.stored.push(stored);
        this.#attempt.took((performance.now() - began) / 1000);
        this.#attempt.stored(part.to - part.from, size);
      }
    } finally {
      reader?.close();
    }
  }

  /** A connection that the origin does not want leaves its part to the others; the last one's failure is the transfer's. */
  async #unlessRefused(run: Run, moving: Promise<StoredPart>): Promise<StoredPart | undefined> {
    try {
      return await moving;
    } catch (error) {
      const refused = error instanceof TransferError && REFUSALS.includes(error.reason);
      if (!refused || this.#active <= this.#connections.wanted) throw error;
      run.giveBack();
      return undefined;
    }
  }

  /** The first answer is the beginning of the file, and is not thrown away. */
  #takeProbe(part: Part): Probe | undefined {
    if (part.from > 0) return undefined;
    const probe = this.#probe;
    this.#probe = undefined;
    return probe;
  }
}
