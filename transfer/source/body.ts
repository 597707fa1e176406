import type { IncomingMessage } from 'node:http';
import { RetryableError } from '../base/errors.ts';
import type { RequestContext } from '../base/retry.ts';
import type { Feed } from './feed.ts';

/**
 * The bytes of one response, pulled: a slow store slows the origin down instead of filling the memory. Chunks are passed on as
 * they came: joining them, as `read()` of a stream does, cost a third of the CPU.
 */
export class Body {
  readonly #response: IncomingMessage;
  readonly #feed: Feed;
  readonly #context: RequestContext;
  #wake: (() => void) | undefined;
  #unread: Buffer | undefined;
  #windowStart = performance.now();
  #windowBytes = 0;
  #windowWaited = 0;

  constructor(response: IncomingMessage, feed: Feed, context: RequestContext) {
    this.#response = response;
    this.#feed = feed;
    this.#context = context;
    feed.onChange = () => this.#wake?.();
  }

  /** The next bytes; `null` at the end. @throws RetryableError `stalled` or `incomplete` */
  async next(): Promise<Buffer | null> {
    for (;;) {
      const chunk = this.take();
      if (chunk) return chunk;
      await this.#feed.watch;
      this.#context.signal.throwIfAborted();
      if (this.#feed.failure) throw brokenOff(this.#feed.failure);
      if (this.#feed.ended) return null;
      if (this.#response.destroyed) throw brokenOff(undefined);
      this.#feed.resume();
      await this.#more();
      this.#checkRate();
    }
  }

  /** What has arrived already. */
  take(): Buffer | undefined {
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread) return unread;
    const chunk = this.#feed.take();
    this.#windowBytes += chunk?.length ?? 0;
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
