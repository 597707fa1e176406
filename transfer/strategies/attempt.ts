import { setMaxListeners } from 'node:events';
import type { Limits } from '../base/limits.ts';
import type { Part, StoredPart } from '../base/parts.ts';
import { type RequestContext, RetryBudget } from '../base/retry.ts';
import { RetryableError, TransferError } from '../base/transfer-errors.ts';
import type { Resume, TransferOptions } from '../base/types.ts';
import type { Source } from '../source/open.ts';
import type { Reader } from '../source/reader.ts';
import { type PartUpload, Store } from '../store/store.ts';

/** The state that survives a restart: options with defaults, the link, the connections to the origin. */
export interface Work {
  options: TransferOptions;
  limits: Limits;
  random: () => number;
  /** Fires shortly before the process ends. */
  timeUp: AbortSignal;
  source: Omit<Source, keyof RequestContext>;
  /** Seconds that must be left to begin a part. */
  margin: number;
}

/** One try at the whole file, from the first response of the origin to the object. */
export class Attempt {
  readonly options: TransferOptions;
  readonly context: RequestContext;
  readonly source: Source;
  readonly store: Store;
  readonly #work: Work;
  readonly #stop = new AbortController();
  #slowest = 0;
  #stored = 0;
  /** Bytes sent to the store, including repeated parts. */
  moved = 0;
  upload: Resume | null;
  /** Whether a new upload may be read by ranges. */
  readonly mayUseRanges: boolean;

  constructor(work: Work, upload: Resume | null, mayUseRanges: boolean) {
    this.mayUseRanges = mayUseRanges;
    this.#work = work;
    this.options = work.options;
    const signal = AbortSignal.any([work.timeUp, this.#stop.signal]);
    // Every request in progress listens to the signal.
    setMaxListeners(0, signal);
    this.context = { limits: work.limits, random: work.random, signal, count: work.options.observer?.request };
    this.source = { ...work.source, ...this.context };
    this.store = new Store(work.options.store, this.context);
    this.upload = upload;
  }

  /** Whether time remains for one more part, judged by the slowest part so far. */
  mayBegin(): boolean {
    return this.options.secondsLeft() > Math.max(this.#work.margin, 3 * this.#slowest);
  }

  /** Whether there is time to complete the upload. */
  mayFinish(): boolean {
    return this.options.secondsLeft() > this.#work.margin;
  }

  /** Records how long a part took. */
  took(seconds: number): void {
    this.#slowest = Math.max(this.#slowest, seconds);
  }

  stored(bytes: number, total: number | null): void {
    this.#stored += bytes;
    this.options.observer?.progress?.(this.#stored, total);
  }

  async createUpload(upload: Omit<Resume, 'uploadId'>): Promise<Resume> {
    const uploadId = await this.store.create(upload.key, upload.contentType);
    const created = { ...upload, uploadId };
    this.setUpload(created);
    return created;
  }

  /** Sets the upload that is now open; `null` after it is completed or aborted. */
  setUpload(upload: Resume | null): void {
    this.upload = upload;
    this.options.observer?.upload?.(upload);
  }

  /** Aborts all requests in progress. */
  stop(reason: unknown): void {
    this.#stop.abort(reason);
    this.store.close();
  }
}

/**
 * Streams one part from a reader to the store. After trouble at the origin the reader recovers and the part continues.
 * After trouble at the store the part is read and sent again.
 */
export async function movePart(attempt: Attempt, upload: Resume, reader: Reader, part: Part): Promise<StoredPart> {
  const began = performance.now();
  const budget = new RetryBudget(attempt.context);
  for (;;) {
    try {
      // The store ends a silent request, and opening the file may take long: the part begins with its first bytes.
      const first = await reader.read(part.to - part.from);
      const sent = await attempt.store.beginPart(upload, { number: part.number, length: part.to - part.from });
      const stored = await stream(attempt, reader, part, sent, first);
      attempt.took((performance.now() - began) / 1000);
      attempt.stored(stored.bytes, upload.size);
      return stored;
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await budget.waitAfter(error);
      reader.rewind(part.from);
    }
  }
}

async function stream(
  attempt: Attempt,
  reader: Reader,
  { from, to }: Part,
  sent: PartUpload,
  first: Buffer | null,
): Promise<StoredPart> {
  let read: ReturnType<typeof reader.read> | null = first;
  try {
    while (sent.bytes < to - from) {
      const chunk = read instanceof Promise ? await read : read;
      if (!chunk) throw new TransferError('incomplete', `The file ended after ${reader.offset} of ${to} bytes.`);
      attempt.moved += chunk.length;
      const full = sent.write(chunk, () => attempt.source.blocks.release(chunk));
      if (full !== undefined) await full;
      if (sent.bytes < to - from) read = reader.read(to - from - sent.bytes);
    }
    return await sent.finish();
  } catch (error) {
    sent.destroy();
    throw error;
  }
}
