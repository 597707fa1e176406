import { setMaxListeners } from 'node:events';
import type { Limits } from '../base/limits.ts';
import type { RequestContext } from '../base/retry.ts';
import type { Resume, TransferOptions } from '../base/types.ts';
import type { Source } from '../source/open.ts';
import { Store } from '../store/store.ts';

/** What a restart keeps: options with their defaults, the link, the connections to the origin. */
export interface Work {
  options: TransferOptions;
  limits: Limits;
  random: () => number;
  /** Fires when the process is about to be ended. */
  timeUp: AbortSignal;
  source: Omit<Source, keyof RequestContext>;
  /** Seconds that must be left for a part to be begun. */
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
  /** Bytes that were sent to the store, those of repeated parts included. */
  moved = 0;
  upload: Resume | null;

  constructor(work: Work, upload: Resume | null) {
    this.#work = work;
    this.options = work.options;
    const signal = AbortSignal.any([work.timeUp, this.#stop.signal]);
    // Every request that is under way listens.
    setMaxListeners(0, signal);
    this.context = { limits: work.limits, random: work.random, signal, count: work.options.observer?.request };
    this.source = { ...work.source, ...this.context };
    this.store = new Store(work.options.store, this.context);
    this.upload = upload;
  }

  /** Whether there is time for one more part, judged by the slowest so far. */
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

  /** The upload that is open from now on; `null` when it is completed or aborted. */
  setUpload(upload: Resume | null): void {
    this.upload = upload;
    this.options.observer?.upload?.(upload);
  }

  /** Ends everything that is under way. */
  stop(reason: unknown): void {
    this.#stop.abort(reason);
    this.store.close();
  }
}
