import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { RetryableError } from '../base/errors.ts';
import { lateFailures } from '../base/http.ts';
import type { RequestContext } from '../base/retry.ts';

/** Read from the connection before anyone wants it. */
const READ_AHEAD_BYTES = 512 * 1024;

/**
 * The bytes of one response, pulled: a slow store slows the origin down instead of filling the memory. Chunks are passed on as
 * they came: joining them, as `read()` of a stream does, cost a third of the CPU.
 */
export class Body {
  readonly #response: IncomingMessage;
  readonly #context: RequestContext;
  #wake: (() => void) | undefined;
  #failure: Error | undefined;
  #unread: Buffer | undefined;
  readonly #queue: Buffer[] = [];
  #queued = 0;
  #surplus: Promise<void> | undefined;
  #windowStart = performance.now();
  #windowBytes = 0;
  #windowWaited = 0;

  constructor(response: IncomingMessage, context: RequestContext) {
    this.#response = response;
    this.#context = context;
    // A range is checked by Content-Range too; a whole file only by what comes behind its end.
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
      this.#context.signal.throwIfAborted();
      const failure = this.#failure ?? lateFailures.get(this.#response);
      if (failure) throw brokenOff(failure);
      if (this.#response.readableEnded) return null;
      if (this.#response.destroyed) throw brokenOff(undefined);
      this.#response.resume();
      await this.#more();
      this.#checkRate();
    }
  }

  /**
   * More bytes than declared prove the declared length wrong. The parser finds those of the same packet; for others, the
   * connection is watched for a while before the end of the body is read, which would close it.
   */
  async #watchSurplus(): Promise<void> {
    const { socket } = this.#response;
    const surplus = () => {
      this.#failure = new Error('more bytes than declared');
    };
    socket.on('data', surplus);
    await sleep(this.#context.limits.surplusMs);
    socket.off('data', surplus);
  }

  /** What has arrived already. */
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

  /** Puts back a chunk, or its end: `next` returns it again. */
  unread(chunk: Buffer): void {
    this.#unread = chunk;
  }

  close(): void {
    this.#response.destroy();
  }

  #more(): Promise<void> {
    const { idleMs } = this.#context.limits;
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

  /** An origin is slow only when most of the time was spent waiting for it, and not for the store. */
  #checkRate(): void {
    const { floorMs, floorBytesPerSecond } = this.#context.limits;
    const now = performance.now();
    const elapsed = now - this.#windowStart;
    if (elapsed < floorMs) return;
    if (this.#windowBytes < (floorBytesPerSecond * elapsed) / 1000 && this.#windowWaited > elapsed / 2) {
      this.close();
      throw new RetryableError('stalled', `The file server sent less than ${floorBytesPerSecond} bytes a second.`);
    }
    this.#windowStart = now;
    this.#windowBytes = 0;
    this.#windowWaited = 0;
  }
}

function brokenOff(error: Error | undefined): RetryableError {
  const code = error && 'code' in error ? String(error.code) : (error?.message ?? 'closed');
  return new RetryableError('incomplete', `The file broke off (${code}).`, { cause: error });
}
