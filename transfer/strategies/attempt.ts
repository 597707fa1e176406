import { setMaxListeners } from 'node:events';
import { LIMITS } from '../base/limits.ts';
import type { RequestContext } from '../base/retry.ts';
import type { Resume, TransferOptions } from '../base/types.ts';
import { Link, type Source, sourceOf } from '../source/open.ts';
import { Store } from '../store/store.ts';

/** The seconds that must be left to begin a new part. In a short invocation: a quarter of the invocation. */
const PART_SECONDS = 20;
/** The seconds that must be left for an orderly end. In a short invocation: an eighth of the invocation. */
const END_SECONDS = 8;

/** A signal that fires with the given reason while the time still allows an orderly end. */
export function deadlineOf(secondsLeft: number, reason: Error) {
  const controller = new AbortController();
  const endMs = Math.max(0, secondsLeft - Math.min(END_SECONDS, secondsLeft / 8)) * 1000;
  const timer = setTimeout(() => controller.abort(reason), Math.min(endMs, 2 ** 31 - 1));
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** One call of `transfer`: its options with defaults, its connections and its time. */
export class Attempt {
  readonly options: TransferOptions;
  readonly context: RequestContext;
  readonly source: Source;
  readonly store: Store;
  readonly #deadline: ReturnType<typeof deadlineOf>;
  /** Seconds that must be left to begin a part. */
  readonly #margin: number;
  readonly #stop = new AbortController();
  #slowest = 0;
  #stored = 0;

  constructor(options: TransferOptions) {
    const left = options.secondsLeft();
    this.options = options;
    this.#margin = Math.min(PART_SECONDS, left / 4);
    this.#deadline = deadlineOf(left, new Error('Time is up.'));
    const signal = AbortSignal.any([this.#deadline.signal, this.#stop.signal]);
    // Every request in progress listens to the signal.
    setMaxListeners(0, signal);
    const { observer, random = Math.random } = options;
    this.context = { limits: { ...LIMITS, ...options.limits }, random, signal, count: observer?.request };
    this.source = sourceOf(new Link(options.address, this.#deadline.signal), options, this.context);
    this.store = new Store(options.store, this.context);
  }

  /** Whether the process ends soon. */
  get timeIsUp(): boolean {
    return this.#deadline.signal.aborted;
  }

  /** Whether time remains for one more part, judged by the slowest part so far. */
  mayBegin(): boolean {
    return this.options.secondsLeft() > Math.max(this.#margin, 3 * this.#slowest);
  }

  /** Whether there is time to complete the upload. */
  mayFinish(): boolean {
    return this.options.secondsLeft() > this.#margin;
  }

  /** Records how long a part took, from the given time on. */
  tookSince(began: number): void {
    this.#slowest = Math.max(this.#slowest, (performance.now() - began) / 1000);
  }

  stored(bytes: number, total: number | null): void {
    this.#stored += bytes;
    this.options.observer?.progress?.(this.#stored, total);
  }

  async createUpload(upload: Omit<Resume, 'uploadId'>): Promise<Resume> {
    const created = { ...upload, uploadId: await this.store.create(upload.key, upload.contentType) };
    this.options.observer?.upload?.(created);
    return created;
  }

  /** Aborts all requests in progress. */
  stop(reason: unknown): void {
    this.#stop.abort(reason);
    this.store.close();
  }

  close(): void {
    this.stop(new Error('The transfer has ended.'));
    this.#deadline.clear();
    this.source.close();
  }
}
