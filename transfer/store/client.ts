import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Agent, agentFor, type Sent, send } from '../base/http.ts';
import { type RequestContext, RetryableError, withRetries } from '../base/retry.ts';
import type { StoreOptions } from '../base/types.ts';
import { refusalOf } from './failures.ts';
import { createSign, type Sign } from './sign.ts';
import { textOf } from './xml.ts';

const STORE = 'The bucket';

export interface Call {
  method: string;
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** What was to happen to the file, for messages: `written`, `completed`. */
  how: string;
  answerMs?: number;
  /** Statuses that are an answer like any other: 404 where absence is one. */
  accept?: number[] | undefined;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** The side that the file goes to: signed requests to one bucket. */
export class StoreClient {
  readonly #options: StoreOptions;
  readonly #context: RequestContext;
  readonly #sign: Sign;
  readonly #agent: Agent;

  constructor(options: StoreOptions, context: RequestContext) {
    this.#options = options;
    this.#context = context;
    this.#sign = createSign(options);
    this.#agent = agentFor(addressOf(this.#options, '').protocol);
  }

  /** One call, repeated while it fails in passing. @throws TransferError, KeyExists, StartOver */
  call(call: Call): Promise<Answer> {
    return withRetries(this.#context, () => this.once(call));
  }

  /** One call, once. @throws RetryableError as well */
  async once(call: Call): Promise<Answer> {
    const headers = { ...call.headers };
    if (call.body !== undefined) headers['content-length'] = String(Buffer.byteLength(call.body));
    const { request, answer } = await this.begin({ ...call, headers });
    request.end(call.body);
    const withinMs = call.answerMs ?? this.#context.limits.firstByteMs;
    return readResponse(await answer, { withinMs, how: call.how, accept: call.accept });
  }

  /** Sends the head of a request; its body is the caller's. */
  async begin({ method, key, query = {}, headers = {}, how, answerMs }: Call): Promise<Sent> {
    const url = addressOf(this.#options, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signed = await this.#sign(method, url, headers);
    this.#context.count?.('store');
    return send(signed.url, {
      method,
      headers: signed.headers,
      agent: this.#agent,
      signal: this.#context.signal,
      limits: this.#context.limits,
      who: `${STORE}, asked that the file be ${how},`,
      reason: 'store-unavailable',
      ...(answerMs && { answerMs }),
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

type Place = Pick<StoreOptions, 'endpoint' | 'bucket' | 'region' | 'urlSuffix'>;

/** Where an object is asked for. */
export function addressOf({ endpoint, bucket, region, urlSuffix = 'amazonaws.com' }: Place, key: string): URL {
  const path = key.split('/').map(encodeSegment).join('/');
  return endpoint
    ? new URL(`${endpoint.replace(/\/$/, '')}/${bucket}/${path}`)
    : new URL(`https://${bucket}.s3.${region}.${urlSuffix}/${path}`);
}

/** Percent-encoding as the signature wants it (RFC 3986). */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

interface Reading extends Pick<Call, 'how' | 'accept'> {
  /** How long the body of the answer may take. */
  withinMs: number;
}

/** The answer when it is a good one. A refusal may come with status 200 as well, after a long wait (Complete). */
export async function readResponse(
  response: IncomingMessage,
  { how, withinMs, accept = [] }: Reading,
): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  // A store that falls silent within its answer would else be waited for without end.
  const timer = setTimeout(() => response.destroy(new Error('silence')), withinMs);
  const body = await text(response)
    .catch((error: unknown) => {
      throw new RetryableError('store-unavailable', `${STORE} broke off its answer when the file was to be ${how}.`, {
        cause: error,
      });
    })
    .finally(() => clearTimeout(timer));
  if (accept.includes(status)) return { status, headers, text: '' };
  const refused = status >= 300 || /<Error>/.test(body.slice(0, 4096));
  if (!refused) return { status, headers, text: body };
  const code = textOf(body, 'Code') ?? '';
  throw refusalOf(
    status >= 300 ? status : 500,
    /^[\w.]{1,60}$/.test(code) ? code : '',
    how,
    textOf(body, 'Message') ?? '',
  );
}
