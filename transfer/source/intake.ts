import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { lateFailures } from '../base/http.ts';
import type { RequestContext } from '../base/retry.ts';
import type { Block, Blocks } from './blocks.ts';
import { type Feed, READ_AHEAD_BYTES, surplusTime } from './feed.ts';

/** What is read at once: four TLS records. */
const READ_BYTES = 64 * 1024;

/**
 * What comes over the connection of one request. The HTTP parser reads up to the packet in which the head ends; a body of
 * declared length that goes on behind it is read past the parser, into recycled blocks. In Node.js the way through the parser
 * takes two new buffers for every TLS record (figures in docs/design/transfer-engine.md).
 *
 * The kernel and TLS write into a buffer that belongs to this connection alone; what is in it is parsed or copied before the
 * callback returns. So no block is ever written to from outside of JavaScript. The connection ends with the body.
 */
export class Intake implements Feed {
  readonly #context: RequestContext;
  readonly #blocks: Blocks;
  readonly #filled: Block[] = [];
  #socket: Socket | undefined;
  #response: IncomingMessage | undefined;
  /** Bytes of the body that have not come; undefined while the parser reads. */
  #left: number | undefined;
  #waiting = 0;
  #failure: Error | undefined;
  onChange = (): void => undefined;
  watch: Promise<void> | undefined;

  constructor(context: RequestContext, blocks: Blocks) {
    this.#context = context;
    this.#blocks = blocks;
  }

  /** An option of the connection. */
  readonly onread = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (length: number): boolean => {
      const bytes = this.onread.buffer.subarray(0, length);
      if (this.#left === undefined) this.#parse(bytes);
      else this.#store(bytes, this.#left);
      return true;
    },
  };

  /** Reads the response to this request, whose connection must be a new one, with `onread`. */
  attach(request: ClientRequest): void {
    request.once('socket', (socket) => {
      this.#socket = socket;
    });
    request.once('response', (response) => {
      this.#response = response;
    });
  }

  /** Whether the body is read past the parser. To be asked when the response is there. */
  get pastParser(): boolean {
    return this.#left !== undefined;
  }

  /** Gives the parser the bytes as they would come without `onread`; it keeps nothing of them. */
  #parse(bytes: Buffer): void {
    this.#socket?.emit('data', bytes);
    const response = this.#response;
    if (!response || response.complete || response.destroyed) return;
    const { statusCode, headers } = response;
    const declared = Number(headers['content-length']);
    if ((statusCode !== 200 && statusCode !== 206) || !Number.isSafeInteger(declared)) return;
    // What the parser has seen of the body is still in the response: nobody could read it yet.
    this.#left = declared - response.readableLength;
    const beginning = response.read() as Buffer | null;
    if (beginning) this.#keep(beginning);
    response.on('close', () => this.onChange());
    response.on('error', (error) => this.#failed(error));
  }

  #store(bytes: Uint8Array, left: number): void {
    const due = bytes.subarray(0, left);
    this.#keep(due);
    this.#left = left - due.length;
    if (due.length < bytes.length) this.#failure ??= new Error('more bytes than declared');
    if (left > 0 && this.#left === 0) this.#whole();
    else if (this.#waiting >= READ_AHEAD_BYTES) this.#socket?.pause();
    this.onChange();
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

  /** A range is checked by Content-Range too; a whole file only by what comes behind its end. */
  #whole(): void {
    if (this.#response?.statusCode !== 200) return;
    this.#socket?.resume();
    this.watch = surplusTime(this.#context.limits);
  }

  #failed(error: Error): void {
    // How a connection ends behind the last byte does not matter.
    if (this.#left !== 0) this.#failure ??= lateFailures.get(this.#response as IncomingMessage) ?? error;
    this.onChange();
  }

  /** Everything that has arrived, as far as one block has it. */
  take(): Buffer | undefined {
    const [block] = this.#filled;
    if (!block || block.taken === block.filled) return undefined;
    const bytes = block.take();
    this.#waiting -= bytes.length;
    if (block.full) this.#filled.shift();
    return bytes;
  }

  resume(): void {
    this.#socket?.resume();
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  get ended(): boolean {
    return this.#left === 0 && this.#waiting === 0;
  }
}
