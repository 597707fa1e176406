import { isUtf8 } from 'node:buffer';

export interface WholeAnswer extends Pick<Response, 'status' | 'ok' | 'headers'> {
  /** The text of the body, or why it could not be read. */
  body: string | UnreadableBody;
}

/** A body that was cut off, took too long or was too large. The message is the end of "… was answered 200, but …". */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
  /** Why the body could not be read. A retry may help after `cut off`. */
  readonly reason: 'cut off' | 'too large';
  /** Private, because logs may print the other parts of an error. */
  readonly #received: string;

  constructor(reason: UnreadableBody['reason'], message: string, { cause, received = '' }: Broken = {}) {
    super(message, { cause });
    this.reason = reason;
    this.#received = received;
  }

  /** The part of the body that has arrived. It may contain all that the caller needs. */
  get received(): string {
    return this.#received;
  }
}

interface Broken {
  cause?: unknown;
  received?: string;
}

/**
 * Sends a request and reads its whole answer within one time limit. A timer of its own ends the wait: `fetch` keeps
 * only a weak reference to its signal after the headers, and would wait forever for a silent body.
 * @param limits bytes of the body after decompression
 * @throws the errors of `send`, and a `TimeoutError` if no status came in time
 */
export async function wholeAnswer(
  send: (signal: AbortSignal) => Promise<Response>,
  { milliseconds, bytes }: { milliseconds: number; bytes: number },
): Promise<WholeAnswer> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new DOMException(`no whole answer within ${milliseconds} ms`, 'TimeoutError');
    late.reject(error);
    controller.abort(error);
  }, milliseconds);
  try {
    const response = await Promise.race([send(controller.signal), late.promise]);
    const { status, ok, headers } = response;
    return { status, ok, headers, body: await bodyOf(response, late.promise, bytes) };
  } finally {
    clearTimeout(timer);
  }
}

async function bodyOf(
  { body, status, headers }: Response,
  late: Promise<never>,
  most: number,
): Promise<string | UnreadableBody> {
  const reader = body?.getReader();
  if (!reader) return '';
  const chunks: Uint8Array[] = [];
  const text = () => textOf(chunks, headers.get('content-type') ?? '');
  let size = 0;
  try {
    for (let next = await Promise.race([reader.read(), late]); !next.done; ) {
      chunks.push(next.value);
      size += next.value.length;
      if (size > most) return new UnreadableBody('too large', `${status}, but with more than ${most} bytes`);
      next = await Promise.race([reader.read(), late]);
    }
    return text();
  } catch (cause) {
    const timeout = cause instanceof Error && cause.name === 'TimeoutError';
    const end = timeout ? 'did not end in time' : 'broke off in the middle';
    return new UnreadableBody('cut off', `${status}, but the answer ${end}`, { cause, received: text() });
  } finally {
    // Closes the connection of a body that never ends, without waiting for it.
    reader.cancel().catch(() => undefined);
  }
}

/** Matches a declared character set that `TextDecoder` knows. */
const CHARSET = /charset="?(iso-8859-(?:1|8-i|8)|utf-16(?:be|le)?|windows-125[0-8])\b/i;

/** JSON is UTF-8 (RFC 8259, 8.1) and has no NUL. Other bytes are read in the character set that the answer declares. */
function textOf(chunks: Uint8Array[], contentType: string): string {
  const bytes = Buffer.concat(chunks);
  const isJson = isUtf8(bytes) && !bytes.includes(0);
  return new TextDecoder(isJson ? 'utf-8' : CHARSET.exec(contentType)?.[1]).decode(bytes);
}
