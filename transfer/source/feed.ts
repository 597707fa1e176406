import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { lateFailures } from '../base/http.ts';
import type { Limits } from '../base/limits.ts';
import type { RequestContext } from '../base/retry.ts';

/** How much is read from a connection before anyone wants it. */
export const READ_AHEAD_BYTES = 512 * 1024;

/** What has arrived of a body: past the HTTP parser (`Intake`), or through it. */
export interface Feed {
  /** Called when something has arrived, or nothing more will. */
  onChange: () => void;
  /** The next bytes that have arrived. */
  take(): Buffer | undefined;
  /** Lets more come. */
  resume(): void;
  /** The watch for bytes behind a body with status 200, when it has begun. */
  readonly watch: Promise<void> | undefined;
  readonly failure: Error | undefined;
  /** The end of the body was read, and all bytes before it were taken. */
  readonly ended: boolean;
}

/**
 * How long a connection is watched for bytes behind the declared end. In a process that was busy meanwhile, timers come before
 * what has arrived: that is read too.
 */
export async function surplusTime({ surplusMs }: Limits): Promise<void> {
  await sleep(surplusMs);
  await turn();
}

/** Bytes of a body that the HTTP parser has to read: in chunks, without a length, or here before anyone could ask for them. */
export class ParsedFeed implements Feed {
  readonly #response: IncomingMessage;
  readonly #queue: Buffer[] = [];
  #queued = 0;
  #failure: Error | undefined;
  onChange = (): void => undefined;
  watch: Promise<void> | undefined;

  constructor(response: IncomingMessage, context: RequestContext) {
    this.#response = response;
    // A range is checked by Content-Range too; a whole file only by what comes behind its end.
    let left = response.statusCode === 200 ? Number(response.headers['content-length']) : Number.NaN;
    const changed = () => this.onChange();
    response.on('data', (chunk: Buffer) => {
      this.#queue.push(chunk);
      this.#queued += chunk.length;
      left -= chunk.length;
      if (this.#queued >= READ_AHEAD_BYTES || left === 0) response.pause();
      if (left === 0) this.watch = this.#watchSurplus(context);
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
   * Looks for bytes behind the declared length, which prove it wrong. The parser finds those of the same packet; for
   * others, the connection is watched for a while before the end of the body is read, which would close it.
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
