import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { lateFailures } from '../base/http.ts';
import { RetryableError } from '../base/retry.ts';
import type { Limits } from '../base/types.ts';

/** What may wait here for whoever asks next. */
const READ_AHEAD_BYTES = 512 * 1024;

/**
 * The bytes of one answer, pulled: hardly anything is read from the connection while nobody asks, so a slow store slows the
 * origin down instead of filling the memory. Bytes are passed on as they came: joining them into larger blocks (`read()` of
 * a stream does) cost a third of the CPU in collecting what it left behind.
 */
export class Body {
  readonly #response: IncomingMessage;
  readonly #limits: Limits;
  readonly #signal: AbortSignal;
  #wake: (() => void) | undefined;
  #failure: Error | undefined;
  #unread: Buffer | undefined;
  readonly #queue: Buffer[] = [];
  #queued = 0;
  #surplus: Promise<void> | undefined;
  #windowStart = performance.now();
  #windowBytes = 0;
  #windowWaited = 0;

  constructor(response: IncomingMessage, { limits, signal }: { limits: Limits; signal: AbortSignal }) {
    this.#response = response;
    this.#limits = limits;
    this.#signal = signal;
    // Of a range, Content-Range is a second witness; of a whole file only what comes behind it could tell.
    let left = response.statusCode === 200 ? Number(response.headers['content-length']) : Number.NaN;
    const wake = () => this.#wake?.();
    response.on('data', (chunk: Buffer) => {
      this.#queue.push(chunk);
      this.#queued += chunk.length;
      left -= chunk.length;
      if (this.#queued >= READ_AHEAD_BYTES || left === 0) response.pause();
      if (left === 0) this.#surplus = this.#watchSurplus();
      wake();
    });
    response.pause();
    response.on('end', wake).on('close', wake);
    response.on('error', (error) => {
      this.#failure = error;
      wake();
    });
  }

  /** The next bytes; `null` at the end. @throws RetryableError `stalled` or `incomplete` */
  async next(): Promise<Buffer | null> {
    for (;;) {
      const chunk = this.take();
      if (chunk) return chunk;
      await this.#surplus;
      if (this.#signal.aborted) throw this.#signal.reason;
      const failure = this.#failure ?? lateFailures.get(this.#response);
      if (failure) throw brokeOff(failure);
      if (this.#response.readableEnded) return null;
      if (this.#response.destroyed) throw brokeOff(undefined);
      this.#response.resume();
      await this.#more();
      this.#checkRate();
    }
  }

  /**
   * Bytes behind the declared end of a body: then its length proves nothing. Those of the same packet are found by the
   * parser; for others, the connection is watched for a while before its end is read, which would close it.
   */
  async #watchSurplus(): Promise<void> {
    const { socket } = this.#response;
    const surplus = () => {
      this.#failure = new Error('more bytes than declared');
    };
    socket.on('data', surplus);
    await sleep(this.#limits.surplusMs);
    socket.off('data', surplus);
  }

  /** What is here already, without waiting. */
  take(): Buffer | undefined {
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread) return unread;
    const chunk = this.#queue.shift();
    if (chunk) {
      this.#queued -= chunk.length;
      this.#windowBytes += chunk.length;
    }
    return chunk;
  }

  /** Gives a chunk, or what is left of it, back: `next` answers it again. */
  unread(chunk: Buffer): void {
    this.#unread = chunk;
  }

  close(): void {
    this.#response.destroy();
  }

  #more(): Promise<void> {
    const { idleMs } = this.#limits;
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wake = undefined;
        this.close();
        reject(new RetryableError('stalled', `The file server sent nothing for ${idleMs / 1000} seconds.`));
      }, idleMs);
      this.#wake = () => {
        this.#wake = undefined;
        clearTimeout(timer);
        this.#windowWaited += performance.now() - began;
        resolve();
      };
    });
  }

  /** Counts only against an origin that is waited for: one that a slow store holds up is not slow. */
  #checkRate(): void {
    const { floorMs, floorBytesPerSecond } = this.#limits;
    const now = performance.now();
    const elapsed = now - this.#windowStart;
    if (elapsed < floorMs) return;
    const slow = this.#windowBytes < (floorBytesPerSecond * elapsed) / 1000 && this.#windowWaited > elapsed / 2;
    if (slow) {
      this.close();
      throw new RetryableError('stalled', `The file server sent less than ${floorBytesPerSecond} bytes a second.`);
    }
    this.#windowStart = now;
    this.#windowBytes = 0;
    this.#windowWaited = 0;
  }
}

function brokeOff(error: Error | undefined): RetryableError {
  const code = error && 'code' in error ? String(error.code) : (error?.message ?? 'closed');
  return new RetryableError('incomplete', `The file broke off (${code}).`, { cause: error });
}
