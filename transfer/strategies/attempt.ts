import { setMaxListeners } from 'node:events';
import { LIMITS } from '../base/limits.ts';
import type { Part, StoredPart } from '../base/parts.ts';
import { type RequestContext, RetryBudget } from '../base/retry.ts';
import { RetryableError, TransferError } from '../base/transfer-errors.ts';
import type { Resume, TransferOptions } from '../base/types.ts';
import { Link, type Source, sourceOf } from '../source/open.ts';
import type { Reader } from '../source/reader.ts';
import { type PartUpload, Store } from '../store/store.ts';

/** The time that must be left to begin a new part; in a short invocation, a quarter of it. */
const PART_SECONDS = 20;
/** The time that must be left for an orderly end; in a short invocation, an eighth of it. */
const END_SECONDS = 8;

/** A signal that fires with the given reason while the time still allows an orderly end. */
export function deadlineOf(secondsLeft: number, reason: Error) {
  const controller = new AbortController();
  const endMs = Math.max(0, secondsLeft - Math.min(END_SECONDS, secondsLeft / 8)) * 1000;
  const timer = setTimeout(() => controller.abort(reason), Math.min(endMs, 2 ** 31 - 1));
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** One call of `transfer`: its options with defaults, its connections, its time, and the upload that is open. */
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
  /** Bytes sent to the store, including repeated parts. */
  moved = 0;
  upload: Resume | null;

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
    this.source = sourceOf(new Link(options.address), options, this.context);
    this.store = new Store(options.store, this.context);
    this.upload = options.resume ?? null;
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

  close(): void {
    this.stop(new Error('The transfer has ended.'));
    this.#deadline.clear();
    for (const agent of Object.values(this.source.agents)) agent.destroy();
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
