import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { lateFailures } from '../base/http.ts';
import type { Limits } from '../base/limits.ts';
import type { RequestContext } from '../base/retry.ts';
import { RetryableError } from '../base/transfer-errors.ts';

/**
 * The bytes of one response, read on demand: a slow store slows the origin down instead of filling the memory. Chunks
 * are passed on unchanged: joining them, as `read()` of a stream does, cost a third of the CPU.
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

  /** Returns bytes that have already arrived. */
  take(): Buffer | undefined {
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread) return unread;
    const chunk = this.#feed.take();
    this.#windowBytes += chunk?.length ?? 0;
    return chunk;
  }

  /** Puts back a chunk or the end of the body, so that `next` returns it again. */
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

  /** Counts an origin as slow only if most of the time went into waiting for it and not for the store. */
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

/** Bytes to read from a connection before the caller asks for them. */
export const READ_AHEAD_BYTES = 512 * 1024;

/** The received bytes of a body, read past the HTTP parser (`Intake`) or through it. */
export interface Feed {
  /** Called when bytes have arrived, or when no more will. */
  onChange: () => void;
  /** Returns the next bytes that have arrived. */
  take(): Buffer | undefined;
  /** Lets more bytes arrive. */
  resume(): void;
  /** The watch for bytes after a body with status 200, once it has started. */
  readonly watch: Promise<void> | undefined;
  readonly failure: Error | undefined;
  /** Whether the end of the body was read and all bytes before it were taken. */
  readonly ended: boolean;
}

/**
 * Waits while a connection is watched for bytes after the declared end. In a busy process, timers fire before arrived
 * bytes are read: the extra turn reads them too.
 */
export async function surplusTime({ surplusMs }: Limits): Promise<void> {
  await sleep(surplusMs);
  await turn();
}

/** Bytes of a body that the HTTP parser reads: chunked, without a length, or arrived before the body could be read. */
export class ParsedFeed implements Feed {
  readonly #response: IncomingMessage;
  readonly #queue: Buffer[] = [];
  #queued = 0;
  #failure: Error | undefined;
  onChange = (): void => undefined;
  watch: Promise<void> | undefined;

  /** @param declared bytes of this body that its headers declare; `null` if they declare none */
  constructor(response: IncomingMessage, context: RequestContext, declared: number | null) {
    this.#response = response;
    let left = declared ?? Number.POSITIVE_INFINITY;
    const changed = () => this.onChange();
    response.on('data', (chunk: Buffer) => {
      const due = chunk.subarray(0, left);
      // A chunked body can hold more than its Content-Range. The surplus would land at the wrong place in the file.
      if (due.length < chunk.length) this.#failure ??= new Error('more bytes than declared');
      if (due.length > 0) this.#queue.push(due);
      this.#queued += due.length;
      left -= due.length;
      if (this.#queued >= READ_AHEAD_BYTES || left === 0) response.pause();
      // Content-Range proves the length of a range. For a whole file, only a watch for surplus bytes does.
      if (due.length > 0 && left === 0 && response.statusCode === 200) this.watch = this.#watchSurplus(context);
      changed();
    });
    response.pause();
    response.on('end', changed).on('close', changed);
    response.on('error', (error) => {
      this.#failure = error;
      changed();
    });
  }

  take(): Buffer | undefined {
    const chunk = this.#queue.shift();
    this.#queued -= chunk?.length ?? 0;
    return chunk;
  }

  resume(): void {
    this.#response.resume();
  }

  get failure(): Error | undefined {
    return this.#failure ?? lateFailures.get(this.#response);
  }

  get ended(): boolean {
    return this.#response.readableEnded;
  }

  /**
   * Looks for bytes after the declared length, which prove it wrong. The parser finds surplus bytes in the same packet.
   * To find later ones, the connection is watched before the end of the body is read, which would close it.
   */
  async #watchSurplus({ limits }: RequestContext): Promise<void> {
    const { socket } = this.#response;
    const surplus = () => {
      this.#failure = new Error('more bytes than declared');
    };
    socket.on('data', surplus);
    await surplusTime(limits);
    socket.off('data', surplus);
  }
}
