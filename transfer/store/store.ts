import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { escapeUriPath } from '@smithy/core/protocols';
import { Hash } from '@smithy/core/serde';
import { SignatureV4 } from '@smithy/signature-v4';
import { crc32Text, crc32Value } from '../base/crc32.ts';
import { type Agent, agentFor, type SentRequest, send } from '../base/http.ts';
import { type RequestContext, withRetries } from '../base/retry.ts';
import { RetryableError, TransferError } from '../base/transfer-errors.ts';
import type { Measured, Resume, StoredPart, StoreOptions } from '../base/types.ts';
import { refusalOf } from './store-errors.ts';

const STORE = 'The bucket';
const CHECKSUM = 'x-amz-checksum-crc32';

type Upload = Pick<Resume, 'key' | 'uploadId'>;

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
  accept?: number[];
}

/** The operations of S3 that a transfer needs, each with the checks that make its response trustworthy. */
export class Store {
  readonly #options: StoreOptions;
  readonly #context: RequestContext;
  readonly #signer: SignatureV4;
  readonly #agent: Agent;

  constructor(options: StoreOptions, context: RequestContext) {
    this.#options = options;
    this.#context = context;
    this.#signer = new SignatureV4({
      service: 's3',
      region: options.region,
      credentials: options.credentials,
      sha256: Hash.bind(null, 'sha256'),
      uriEscapePath: false,
      applyChecksum: false,
    });
    this.#agent = agentFor(addressOf(options, '').protocol);
  }

  /** Begins an upload in parts and returns its id. */
  create(key: string, contentType: string): Promise<string> {
    const headers = {
      'content-type': contentType,
      'x-amz-checksum-algorithm': 'CRC32',
      'x-amz-checksum-type': 'FULL_OBJECT',
    };
    const request = { method: 'POST', key, query: { uploads: '' }, headers, body: '', action: 'begun' };
    return withRetries(this.#context, async () => {
      const { body } = await this.#once(request);
      return textOf(body, 'UploadId') || noAnswerOfS3('begun');
    });
  }

  /**
   * Begins one part of known length; the caller writes its bytes, and their CRC-32 follows. There is no retry, because
   * the bytes are not kept.
   */
  async beginPart({ key, uploadId }: Upload, part: UploadPart): Promise<PartUpload> {
    const query = { partNumber: String(part.number), uploadId };
    const headers = framedHeaders(part.length);
    const sent = await this.#begin({ method: 'PUT', key, query, headers, action: PART_ACTION });
    return new PartUpload(sent, part, this.#context.limits.idleMs);
  }

  /** Stores one part from memory. */
  putPart({ key, uploadId }: Upload, number: number, body: Buffer): Promise<StoredPart> {
    const checksum = crc32(body);
    const query = { partNumber: String(number), uploadId };
    const headers = { [CHECKSUM]: crc32Text(checksum) };
    return withRetries(this.#context, async () => {
      const answer = await this.#once({ method: 'PUT', key, query, headers, body, action: PART_ACTION });
      return { number, bytes: body.length, etag: answer.headers.etag || noAnswerOfS3(PART_ACTION), crc32: checksum };
    });
  }

  /** All parts that the store holds, each with its checksum. @throws TransferError `changed` if the upload is gone */
  async parts({ key, uploadId }: Upload): Promise<StoredPart[]> {
    const found: StoredPart[] = [];
    for (let marker = 0; ; ) {
      const query = { uploadId, 'part-number-marker': String(marker) };
      const { body } = await this.#request({ method: 'GET', key, query, action: 'looked up' });
      found.push(...elementsOf(body, 'Part').flatMap(partOf));
      if (textOf(body, 'IsTruncated') !== 'true') return found;
      const next = Number(textOf(body, 'NextPartNumberMarker'));
      if (!(next > marker)) throw new TransferError('store-unavailable', 'The list of stored parts does not end.');
      marker = next;
    }
  }

  /** Removes an upload and its parts, unless they are already gone. */
  async abort({ key, uploadId }: Upload): Promise<void> {
    await this.#request({ method: 'DELETE', key, query: { uploadId }, action: 'discarded', accept: [404] });
  }

  /** Combines the parts into an object. Sent once: the caller knows whether a repeat is safe. */
  async complete({ key, uploadId }: Upload, parts: readonly StoredPart[], total: Measured): Promise<void> {
    const checksum = { [CHECKSUM]: crc32Text(total.crc32), 'x-amz-checksum-type': 'FULL_OBJECT' };
    const { body } = await this.#once({
      method: 'POST',
      key,
      query: { uploadId },
      headers: {
        'content-type': 'application/xml',
        'if-none-match': '*',
        'x-amz-mp-object-size': String(total.bytes),
        ...(this.#options.objectChecksum && checksum),
      },
      body: completeBody(parts),
      action: 'completed',
      responseMs: this.#context.limits.completeMs,
    });
    if (!body.includes('<CompleteMultipartUploadResult')) noAnswerOfS3('completed');
  }

  /** Stores a small object. Sent once: the caller knows whether a repeat is safe. */
  async put(key: string, contentType: string, body: Buffer, checksum: number): Promise<void> {
    const headers = { 'content-type': contentType, 'if-none-match': '*', [CHECKSUM]: crc32Text(checksum) };
    const answer = await this.#once({ method: 'PUT', key, headers, body, action: 'stored' });
    if (!answer.headers.etag) noAnswerOfS3('stored');
  }

  /** Measures the object at a key; `undefined` if the store reports no object, or none with the CRC-32 of its bytes. */
  async measure(key: string): Promise<Measured | undefined> {
    // Without the permission to list, S3 answers 403 for a missing object.
    const request = { key, headers: { 'x-amz-checksum-mode': 'ENABLED' }, action: 'looked at', accept: [403, 404] };
    const { status, headers } = await this.#request({ method: 'HEAD', ...request });
    const checksum = crc32Value(headers[CHECKSUM]);
    if (status >= 300 || checksum === null) return undefined;
    return { bytes: Number(headers['content-length']), crc32: checksum };
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Sends a request until it succeeds or the retry budget is used up. */
  #request(request: StoreRequest): Promise<StoreAnswer> {
    return withRetries(this.#context, () => this.#once(request));
  }

  async #once(request: StoreRequest): Promise<StoreAnswer> {
    const headers = { ...request.headers };
    if (request.body !== undefined) headers['content-length'] = String(Buffer.byteLength(request.body));
    const sent = await this.#begin({ ...request, headers });
    sent.request.end(request.body);
    const withinMs = request.responseMs ?? this.#context.limits.firstByteMs;
    return readAnswer(await sent.response, request, withinMs);
  }

  /** Sends the head of a request; the caller writes its body and ends it. */
  async #begin({ method, key, query = {}, headers = {}, action, responseMs }: StoreRequest): Promise<SentRequest> {
    const url = addressOf(this.#options, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    // Signature Version 4 without the body. TLS and a CRC-32 protect the body; hashing costs a quarter of the CPU.
    const signed = await this.#signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query,
      headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers, host: url.host },
    });
    return send(url, {
      side: 'store',
      method,
      headers: signed.headers,
      agent: this.#agent,
      context: this.#context,
      peer: `${STORE} (the file was to be ${action})`,
      responseMs,
    });
  }
}

type BucketAddress = Pick<StoreOptions, 'endpoint' | 'bucket' | 'region' | 'urlSuffix'>;

export function addressOf({ endpoint, bucket, region, urlSuffix = 'amazonaws.com' }: BucketAddress, key: string): URL {
  const path = escapeUriPath(key);
  return endpoint
    ? new URL(`${endpoint.replace(/\/$/, '')}/${bucket}/${path}`)
    : new URL(`https://${bucket}.s3.${region}.${urlSuffix}/${path}`);
}

interface StoreAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/**
 * Returns the response unless it is a refusal. Complete, after a long wait, sends a refusal with status 200.
 * @param withinMs the longest time that the body of the response may take
 */
async function readAnswer(
  response: IncomingMessage,
  { action, accept = [] }: Pick<StoreRequest, 'action' | 'accept'>,
  withinMs: number,
): Promise<StoreAnswer> {
  const { statusCode: status = 0, headers } = response;
  const timer = setTimeout(() => response.destroy(new Error('silence')), withinMs);
  const body = await text(response)
    .catch((cause: unknown) => {
      const message = `${STORE} broke off its answer when the file was to be ${action}.`;
      throw new RetryableError('store-unavailable', message, { cause });
    })
    .finally(() => clearTimeout(timer));
  const isSuccess = status < 300 && !/<Error>/.test(body.trimStart().slice(0, 4096));
  if (isSuccess || accept.includes(status)) return { status, headers, body };
  const code = textOf(body, 'Code') ?? '';
  const safeCode = /^[\w.]{1,60}$/.test(code) ? code : '';
  throw refusalOf(status >= 300 ? status : 500, safeCode, action, textOf(body, 'Message') ?? '');
}

/** Refuses a success without a field that S3 always sends: the answer may be from a proxy. @throws RetryableError */
function noAnswerOfS3(action: string): never {
  throw new RetryableError('store-unavailable', `${STORE} did not confirm that the file was ${action}.`);
}

/**
 * The content of every element with this name, not unescaped. The few responses of S3 are flat and need no XML parser.
 */
function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, inside = '']) => inside);
}

/** The content of the first element with this name. */
function textOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0];
}

/** Reads a stored part. A part without a checksum is left out, so that it is sent again. */
function partOf(xml: string): StoredPart[] {
  const checksum = crc32Value(textOf(xml, 'ChecksumCRC32'));
  const number = Number(textOf(xml, 'PartNumber'));
  const bytes = Number(textOf(xml, 'Size'));
  return checksum === null ? [] : [{ number, bytes, etag: textOf(xml, 'ETag') ?? '', crc32: checksum }];
}

/** The body lists the checksum of every part: some stores require it, and all check it. */
function completeBody(parts: readonly StoredPart[]): string {
  const lines = parts.map(
    ({ number, etag, crc32: checksum }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag><ChecksumCRC32>${crc32Text(checksum)}</ChecksumCRC32></Part>`,
  );
  const space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<CompleteMultipartUpload ${space}>${lines.join('')}</CompleteMultipartUpload>`;
}

type UploadPart = { number: number; length: number };

const PART_ACTION = 'stored in part';

/** The encoding `aws-chunked` with one frame: a line with the length, then the bytes, then the checksum. */
const frameStart = (length: number) => `${length.toString(16)}\r\n`;
const frameEnd = (checksum: number) => `\r\n0\r\n${CHECKSUM}:${crc32Text(checksum)}\r\n\r\n`;

function framedHeaders(length: number): Record<string, string> {
  return {
    'content-encoding': 'aws-chunked',
    'content-length': String(frameStart(length).length + length + frameEnd(0).length),
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': String(length),
    'x-amz-trailer': CHECKSUM,
  };
}

/** One part in transit. Its bytes are checksummed and written as they arrive, and are not kept. */
export class PartUpload {
  readonly #part: UploadPart;
  readonly #sent: SentRequest;
  readonly #answerMs: number;
  #settled = false;
  #wake: (() => void) | undefined;
  /** Bytes of the part that are not written yet. */
  left: number;
  #crc32 = 0;

  constructor(sent: SentRequest, part: UploadPart, answerMs: number) {
    this.#part = part;
    this.#sent = sent;
    this.#answerMs = answerMs;
    this.left = part.length;
    const wake = () => this.#wake?.();
    sent.request.on('drain', wake);
    const settle = () => {
      this.#settled = true;
      wake();
    };
    sent.response.then(settle, settle);
    sent.request.write(frameStart(part.length));
  }

  /**
   * Writes bytes. If it returns a promise, wait for it before the next write; it rejects if the store refused the part.
   * @param onSent called when the connection has taken all bytes and their memory may be reused
   */
  write(chunk: Buffer, onSent: () => void): Promise<void> | undefined {
    if (this.#settled) return this.#failure();
    this.#crc32 = crc32(chunk, this.#crc32);
    this.left -= chunk.length;
    const room = this.#sent.request.write(chunk, (error) => error ?? onSent());
    return room || this.left === 0 ? undefined : this.#drained();
  }

  /** Ends the part with its checksum, which the store compares with its own (`BadDigest`). */
  async finish(): Promise<StoredPart> {
    this.#sent.request.end(frameEnd(this.#crc32));
    const { headers } = await this.#answer();
    const etag = headers.etag || noAnswerOfS3(PART_ACTION);
    return { number: this.#part.number, bytes: this.#part.length, etag, crc32: this.#crc32 };
  }

  destroy(): void {
    this.#sent.request.destroy();
  }

  /**
   * Waits until the connection takes more bytes, or the request has ended. The time limit of `send` bounds this wait.
   */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve(this.#settled ? this.#failure() : undefined);
      };
    });
  }

  async #answer(): Promise<StoreAnswer> {
    return readAnswer(await this.#sent.response, { action: PART_ACTION }, this.#answerMs);
  }

  /** Throws the error for a response, or a failure, that came before the last byte was written. */
  async #failure(): Promise<never> {
    await this.#answer();
    throw new RetryableError('store-unavailable', `${STORE} answered before it had the whole part.`);
  }
}
