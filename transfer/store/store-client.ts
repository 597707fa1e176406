import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { SignatureV4 } from '@smithy/signature-v4';
import { type Agent, agentFor, type SentRequest, send } from '../base/http.ts';
import { type RequestContext, withRetries } from '../base/retry.ts';
import { RetryableError } from '../base/transfer-errors.ts';
import type { StoreOptions } from '../base/types.ts';
import { refusalOf } from './store-errors.ts';

const STORE = 'The bucket';

interface StoreRequest {
  method: string;
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** The action on the file, for messages: `written`, `completed`. */
  action: string;
  responseMs?: number;
  /** Statuses to accept besides success, such as 404 if absence is a result. */
  accept?: number[] | undefined;
}

export interface StoreResponse {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** Signed requests to one bucket. */
export class StoreClient {
  readonly options: StoreOptions;
  readonly context: RequestContext;
  readonly #sign: Sign;
  readonly #agent: Agent;

  constructor(options: StoreOptions, context: RequestContext) {
    this.options = options;
    this.context = context;
    this.#sign = createSign(options);
    this.#agent = agentFor(addressOf(options, '').protocol);
  }

  /** Sends a request until it succeeds or the retry budget is used up. @throws TransferError, KeyExists, StartOver */
  request(request: StoreRequest): Promise<StoreResponse> {
    return withRetries(this.context, () => this.requestOnce(request));
  }

  /** @throws RetryableError, TransferError, KeyExists, StartOver */
  async requestOnce(request: StoreRequest): Promise<StoreResponse> {
    const headers = { ...request.headers };
    if (request.body !== undefined) headers['content-length'] = String(Buffer.byteLength(request.body));
    const sent = await this.begin({ ...request, headers });
    sent.request.end(request.body);
    const withinMs = request.responseMs ?? this.context.limits.firstByteMs;
    return readResponse(await sent.response, { ...request, withinMs });
  }

  /** Sends the head of a request; the caller writes its body and ends it. */
  async begin({ method, key, query = {}, headers = {}, action, responseMs }: StoreRequest): Promise<SentRequest> {
    const url = addressOf(this.options, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return send(url, {
      side: 'store',
      method,
      headers: await this.#sign(method, url, headers),
      agent: this.#agent,
      context: this.context,
      peer: `${STORE}, asked that the file be ${action},`,
      responseMs,
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

type BucketAddress = Pick<StoreOptions, 'endpoint' | 'bucket' | 'region' | 'urlSuffix'>;

/** The URL of an object. */
export function addressOf({ endpoint, bucket, region, urlSuffix = 'amazonaws.com' }: BucketAddress, key: string): URL {
  const path = key.split('/').map(encodeSegment).join('/');
  return endpoint
    ? new URL(`${endpoint.replace(/\/$/, '')}/${bucket}/${path}`)
    : new URL(`https://${bucket}.s3.${region}.${urlSuffix}/${path}`);
}

/** Percent-encoding as the signature requires (RFC 3986). */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

interface Expected extends Pick<StoreRequest, 'action' | 'accept'> {
  /** The longest time that the body of the response may take. */
  withinMs: number;
}

/** Returns the response unless it is a refusal. Complete, after a long wait, sends a refusal with status 200. */
export async function readResponse(
  response: IncomingMessage,
  { action, withinMs, accept = [] }: Expected,
): Promise<StoreResponse> {
  const { statusCode: status = 0, headers } = response;
  const timer = setTimeout(() => response.destroy(new Error('silence')), withinMs);
  const body = await text(response)
    .catch((cause: unknown) => {
      const message = `${STORE} broke off its answer when the file was to be ${action}.`;
      throw new RetryableError('store-unavailable', message, { cause });
    })
    .finally(() => clearTimeout(timer));
  if (accept.includes(status)) return { status, headers, text: '' };
  if (status < 300 && !/<Error>/.test(body.trimStart().slice(0, 4096))) return { status, headers, text: body };
  const code = textOf(body, 'Code') ?? '';
  const safeCode = /^[\w.]{1,60}$/.test(code) ? code : '';
  throw refusalOf(status >= 300 ? status : 500, safeCode, action, textOf(body, 'Message') ?? '');
}

/** Node's SHA-256 with the interface that the signer requires. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    // The cast: the signer's type allows more, but it passes only text or a Uint8Array.
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key as string | Uint8Array);
  }

  update(data: string | NodeJS.ArrayBufferView): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

type Headers = Record<string, string>;

/** Returns the headers of the signed request. */
type Sign = (method: string, url: URL, headers: Headers) => Promise<Headers>;

/** Signature Version 4 without the body. TLS and a CRC-32 protect the body; hashing costs a quarter of the CPU. */
function createSign({ region, credentials }: StoreOptions): Sign {
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  return async (method, url, headers) => {
    const signed = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port && { port: Number(url.port) }),
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers, host: url.host },
    });
    return signed.headers;
  };
}

/** The content of every element with this name, as it is written: no XML parser reads the few flat responses of S3. */
export function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, inside = '']) => inside);
}

/** The content of the first element with this name. */
export function textOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0];
}
