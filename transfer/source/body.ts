import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { RequestContext } from '../base/retry.ts';
import { RetryableError } from '../base/transfer-errors.ts';
import type { Block, Blocks } from './blocks.ts';

/** Bytes to read from a connection before the caller asks for them. */
const READ_AHEAD_BYTES = 512 * 1024;
/** Bytes of one read: four TLS records. */
const READ_BYTES = 64 * 1024;

/**
 * The bytes of one response, read on demand: a slow store slows the origin down instead of filling the memory.
 *
 * The HTTP parser reads up to the packet in which the headers end. The rest of a body of declared length bypasses
 * the parser, into recycled blocks: the parser of Node.js takes two new buffers for every TLS record (figures in
 * docs/design/transfer-engine.md). Any other body comes through the parser into the same blocks.
 *
 * The kernel and TLS write into a buffer of this connection alone. The callback parses or copies its content before it
 * returns, so code outside of JavaScript never writes to a block. The connection ends with the body.
 */
export class Body {
  readonly #context: RequestContext;
  readonly #blocks: Blocks;
  readonly #filled: Block[] = [];
  #socket: Socket | undefined;
  #response: IncomingMessage | undefined;
  #pastParser = false;
  /** Bytes of the body that have not arrived; infinite if no header declares them. */
  #left = Number.POSITIVE_INFINITY;
  /** Bytes that have arrived and that no reader has taken yet. */
  #waiting = 0;
  #unread: Buffer | undefined;
  #failure: Error | undefined;
  /** An error after the start of the response, such as bytes after the declared end, which only the request reports. */
  #late: Error | undefined;
  /** Bytes that readers took, and how long they waited for them, since the rate of the origin was checked last. */
  #taken = 0;
  #waitedMs = 0;
  /** The wait for surplus bytes after a body with status 200; `undefined` before it starts. */
  #watch: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  constructor(context: RequestContext, blocks: Blocks) {
    this.#context = context;
    this.#blocks = blocks;
  }

  /** The `onread` option of the connection. */
  readonly onread = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (length: number): boolean => {
      const bytes = this.onread.buffer.subarray(0, length);
      if (this.#pastParser) this.#store(bytes);
      else if (this.#watch !== undefined) this.#failure = tooMany();
      else this.#parse(bytes);
      return true;
    },
  };

  /** Reads the response to this request. The request must use a new connection with `onread`. */
  attach(request: ClientRequest): void {
    request.once('socket', (socket) => {
      this.#socket = socket;
    });
    request.once('response', (response) => {
      this.#response = response;
      request.on('error', (error) => {
        this.#late = error;
      });
      response.on('close', () => this.#wake?.());
      response.on('error', (error) => {
        // After the last byte, it does not matter how the connection ends.
        if (!this.#pastParser || this.#left > 0) this.#failure ??= this.#late ?? error;
        this.#wake?.();
      });
    });
  }

  /** Starts to read the body, after the response has arrived. @param due its bytes; `null` if no header declares them */
  begin(due: number | null): void {
    const response = this.#response;
    if (this.#pastParser || !response) return;
    this.#left = due ?? Number.POSITIVE_INFINITY;
    response.on('data', (bytes: Buffer) => this.#store(bytes));
    response.on('end', () => this.#wake?.());
    response.pause();
  }

  /** Gives the parser the bytes as they would come without `onread`. The parser keeps no reference to them. */
  #parse(bytes: Buffer): void {
    this.#socket?.emit('data', bytes);
    const response = this.#response;
    if (!response || response.complete || response.destroyed) return;
    const { statusCode, headers } = response;
    const declared = Number(headers['content-length']);
    if ((statusCode !== 200 && statusCode !== 206) || !Number.isSafeInteger(declared)) return;
    // The response still holds all body bytes that the parser has read, because no caller could read them yet.
    this.#left = declared - response.readableLength;
    this.#pastParser = true;
    const beginning = response.read() as Buffer | null;
    if (beginning) this.#keep(beginning);
  }

  #store(bytes: Uint8Array): void {
    const due = bytes.subarray(0, this.#left);
    this.#keep(due);
    this.#left -= due.length;
    // A chunked body can hold more than its Content-Range. The surplus would land at the wrong place in the file.
    if (due.length < bytes.length) this.#failure ??= tooMany();
    if (due.length > 0 && this.#left === 0) this.#whole();
    else if (this.#waiting >= READ_AHEAD_BYTES) this.#flow.pause();
    this.#wake?.();
  }

  #keep(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      let block = this.#filled.at(-1);
      if (!block || block.full) {
        block = this.#blocks.next();
        this.#filled.push(block);
      }
      at += block.fill(at === 0 ? bytes : bytes.subarray(at));
    }
    this.#waiting += bytes.length;
  }

  /**
   * Reads on after a whole file to find surplus bytes, which prove the declared length wrong. For a range,
   * Content-Range proves the length. The parser would close the connection at the end of the body, so the engine does
   * not read that end yet.
   */
  #whole(): void {
    if (this.#response?.statusCode !== 200) return;
    if (!this.#pastParser) this.#response.pause();
    this.#socket?.resume();
    // In a busy process, timers fire before arrived bytes are read: the extra turn reads them too.
    this.#watch = sleep(this.#context.limits.surplusMs).then(() => turn());
  }

  get #flow() {
    return (this.#pastParser ? this.#socket : this.#response) as Pick<Socket, 'pause' | 'resume'>;
  }

  /** The next bytes; `null` at the end. @throws RetryableError `stalled` or `incomplete` */
  async next(): Promise<Buffer | null> {
    for (;;) {
      const chunk = this.take();
      if (chunk) return chunk;
      await this.#watch;
      this.#context.signal.throwIfAborted();
      const response = this.#response as IncomingMessage;
      // If reading bypasses the parser, errors that the parser reports after the last byte do not count.
      const failure = this.#failure ?? (this.#pastParser ? undefined : this.#late);
      if (failure) throw brokenOff(failure);
      if (this.#pastParser ? this.#left === 0 : response.readableEnded) return null;
      if (response.destroyed) throw brokenOff(undefined);
      this.#flow.resume();
      await this.#more();
    }
  }

  /** Reads until so many bytes have arrived, or all of a shorter body. The last chunk may hold more. */
  async upTo(bytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (let length = 0; length < bytes; length += chunks.at(-1)?.length ?? 0) {
      const chunk = await this.next();
      if (!chunk) break;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Returns bytes that have already arrived. */
  take(): Buffer | undefined {
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread) return unread;
    const [block] = this.#filled;
    if (!block || block.taken === block.filled) return undefined;
    const bytes = block.take();
    this.#waiting -= bytes.length;
    this.#taken += bytes.length;
    if (block.full) this.#filled.shift();
    return bytes;
  }

  /** Puts back a chunk, so that `next` returns it again. */
  unread(chunk: Buffer): void {
    this.#unread = chunk;
  }

  close(): void {
    this.#response?.destroy();
  }

  /**
   * Waits for a change. The rate of the origin counts only while the engine waits for the origin, not for the store.
   * @throws RetryableError `stalled` after silence, or if the origin is too slow
   */
  async #more(): Promise<void> {
    const { idleMs, floorMs, floorBytesPerSecond } = this.#context.limits;
    const began = performance.now();
    const changed = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), idleMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
    this.#wake = undefined;
    if (!changed) this.#stalled(`nothing for ${idleMs / 1000} seconds`);
    this.#waitedMs += performance.now() - began;
    if (this.#waitedMs < floorMs) return;
    if (this.#taken < (floorBytesPerSecond * this.#waitedMs) / 1000)
      this.#stalled(`less than ${floorBytesPerSecond} bytes a second`);
    this.#taken = 0;
    this.#waitedMs = 0;
  }

  #stalled(sent: string): never {
    this.close();
    throw new RetryableError('stalled', `The file server sent ${sent}.`);
  }
}

function tooMany(): Error {
  return new Error('more bytes than declared');
}

function brokenOff(error: Error | undefined): RetryableError {
  const code = error && 'code' in error ? String(error.code) : (error?.message ?? 'closed');
  return new RetryableError('incomplete', `The file broke off (${code}).`, { cause: error });
}
