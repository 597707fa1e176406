import { crc32 } from 'node:zlib';
import { crc32Text, crc32Value } from '../base/crc32.ts';
import type { SentRequest } from '../base/http.ts';
import type { StoredPart } from '../base/parts.ts';
import { type RequestContext, withRetries } from '../base/retry.ts';
import { RetryableError, TransferError } from '../base/transfer-errors.ts';
import type { Resume, StoreOptions } from '../base/types.ts';
import { elementsOf, readResponse, StoreClient, textOf } from './store-client.ts';

const CHECKSUM = 'x-amz-checksum-crc32';

type Upload = Pick<Resume, 'key' | 'uploadId'>;

/** Length and CRC-32 of an object. */
export interface Measured {
  bytes: number;
  crc32: number;
}

/** The operations of S3 that a transfer needs, each with the checks that make its response trustworthy. */
export class Store {
  readonly #client: StoreClient;

  constructor(options: StoreOptions, context: RequestContext) {
    this.#client = new StoreClient(options, context);
  }

  /** Begins an upload in parts and returns its id. */
  create(key: string, contentType: string): Promise<string> {
    return withRetries(this.#client.context, async () => {
      const { text } = await this.#client.requestOnce({
        method: 'POST',
        key,
        query: { uploads: '' },
        headers: {
          'content-type': contentType,
          'x-amz-checksum-algorithm': 'CRC32',
          'x-amz-checksum-type': 'FULL_OBJECT',
        },
        body: '',
        action: 'begun',
      });
      return textOf(text, 'UploadId') || noAnswerOfS3('begun');
    });
  }

  /**
   * Begins one part of known length; the caller writes its bytes, and their CRC-32 follows. There is no retry, because
   * the bytes are not kept.
   */
  async beginPart({ key, uploadId }: Upload, part: UploadPart): Promise<PartUpload> {
    const query = { partNumber: String(part.number), uploadId };
    const headers = framedHeaders(part.length);
    const sent = await this.#client.begin({ method: 'PUT', key, query, headers, action: ACTION });
    return new PartUpload(sent, part, this.#client.context.limits.idleMs);
  }

  /** Stores one part from memory. */
  putPart(upload: Upload, number: number, body: Buffer): Promise<StoredPart> {
    return withRetries(this.#client.context, async () => {
      const part = await this.beginPart(upload, { number, length: body.length });
      try {
        // Written in frames, so that a refusal or a silent bucket shows before all bytes are queued.
        for (let at = 0; at < body.length; at += FRAME_BYTES) await part.write(body.subarray(at, at + FRAME_BYTES));
        return await part.finish();
      } catch (error) {
        part.destroy();
        throw error;
      }
    });
  }

  /** All parts that the store holds, each with its checksum. @throws NoSuchUpload */
  async parts({ key, uploadId }: Upload): Promise<StoredPart[]> {
    const found: StoredPart[] = [];
    for (let marker = 0; ; ) {
      const query = { uploadId, 'part-number-marker': String(marker) };
      const { text } = await this.#client.request({ method: 'GET', key, query, action: 'looked up' });
      found.push(...elementsOf(text, 'Part').flatMap(partOf));
      if (textOf(text, 'IsTruncated') !== 'true') return found;
      const next = Number(textOf(text, 'NextPartNumberMarker'));
      if (!(next > marker)) throw new TransferError('store-unavailable', 'The list of stored parts does not end.');
      marker = next;
    }
  }

  /** Removes an upload and its parts, unless they are already gone. */
  async abort({ key, uploadId }: Upload): Promise<void> {
    await this.#client.request({ method: 'DELETE', key, query: { uploadId }, action: 'given up', accept: [404] });
  }

  /** Combines the parts into an object. Sent once: the caller knows whether a repeat is safe. */
  async complete({ key, uploadId }: Upload, parts: StoredPart[], total: Measured): Promise<void> {
    const { text } = await this.#client.requestOnce({
      method: 'POST',
      key,
      query: { uploadId },
      headers: {
        'content-type': 'application/xml',
        'if-none-match': '*',
        'x-amz-mp-object-size': String(total.bytes),
        ...(this.#client.options.objectChecksum && {
          [CHECKSUM]: crc32Text(total.crc32),
          'x-amz-checksum-type': 'FULL_OBJECT',
        }),
      },
      body: completeBody(parts),
      action: 'completed',
      responseMs: this.#client.context.limits.completeMs,
    });
    if (!text.includes('<CompleteMultipartUploadResult')) noAnswerOfS3('completed');
  }

  /** Stores a small object. Sent once. */
  async put(key: string, contentType: string, body: Buffer, checksum: number): Promise<void> {
    const sent = { 'content-type': contentType, 'if-none-match': '*', [CHECKSUM]: crc32Text(checksum) };
    const { headers } = await this.#client.requestOnce({ method: 'PUT', key, headers: sent, body, action: 'stored' });
    if (!headers.etag) noAnswerOfS3('stored');
  }

  /** Measures the object at a key; `undefined` if the store reports no object. */
  async measure(key: string): Promise<Measured | undefined> {
    // Without the permission to list, S3 answers 403 for a missing object.
    const request = { key, headers: { 'x-amz-checksum-mode': 'ENABLED' }, action: 'looked at', accept: [403, 404] };
    const { status, headers } = await this.#client.request({ method: 'HEAD', ...request });
    if (status >= 300) return undefined;
    const checksum = crc32Value(headers[CHECKSUM]);
    if (checksum !== null) return { bytes: Number(headers['content-length']), crc32: checksum };
    return withRetries(this.#client.context, () => this.#readBack(key));
  }

  /** Measures an object by reading it, for a store that keeps no checksum of whole objects. */
  async #readBack(key: string): Promise<Measured> {
    const { request, response: pending } = await this.#client.begin({ method: 'GET', key, action: 'read back' });
    request.end();
    const response = await pending;
    const { firstByteMs: withinMs } = this.#client.context.limits;
    // `send` has set the limit for silence.
    request.on('timeout', () => response.destroy(new Error('silence')));
    if (response.statusCode !== 200) await readResponse(response, { action: 'read back', withinMs });
    const measured = { bytes: 0, crc32: 0 };
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        measured.bytes += chunk.length;
        measured.crc32 = crc32(chunk, measured.crc32);
      }
      return measured;
    } catch (cause) {
      throw new RetryableError('store-unavailable', 'The bucket broke off the file that it stored.', { cause });
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** Refuses a success without what S3 always answers: it may be a proxy's. @throws RetryableError */
function noAnswerOfS3(action: string): never {
  throw new RetryableError('store-unavailable', `The bucket did not confirm that the file was ${action}.`);
}

/** Reads a stored part. A part without a checksum is left out, so that it is sent again. */
function partOf(xml: string): StoredPart[] {
  const checksum = crc32Value(textOf(xml, 'ChecksumCRC32'));
  const number = Number(textOf(xml, 'PartNumber'));
  const bytes = Number(textOf(xml, 'Size'));
  return checksum === null ? [] : [{ number, bytes, etag: textOf(xml, 'ETag') ?? '', crc32: checksum }];
}

/** The body lists the checksum of every part: some stores require it, and all check it. */
function completeBody(parts: StoredPart[]): string {
  const lines = parts.map(
    ({ number, etag, crc32: checksum }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag><ChecksumCRC32>${crc32Text(checksum)}</ChecksumCRC32></Part>`,
  );
  const space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<CompleteMultipartUpload ${space}>${lines.join('')}</CompleteMultipartUpload>`;
}

/** Frame size of the encoding that puts a checksum after the bytes. S3 requires at least 8 KiB. */
const FRAME_BYTES = 1024 * 1024;
const ACTION = 'stored in part';

type UploadPart = { number: number; length: number };

/** One part in transit. Its bytes are checksummed and written as they arrive, and are not kept. */
export class PartUpload {
  readonly #part: UploadPart;
  readonly #sent: SentRequest;
  readonly #idleMs: number;
  #settled = false;
  #wake: (() => void) | undefined;
  bytes = 0;
  crc32 = 0;

  constructor(sent: SentRequest, part: UploadPart, idleMs: number) {
    this.#part = part;
    this.#sent = sent;
    this.#idleMs = idleMs;
    const wake = () => this.#wake?.();
    sent.request.on('drain', wake);
    const settle = () => {
      this.#settled = true;
      wake();
    };
    sent.response.then(settle, settle);
  }

  /**
   * Writes bytes. If it returns a promise, wait for it before the next write; it rejects if the store refused the part.
   * @param onSent called when the connection has taken all bytes and their memory may be reused
   */
  write(chunk: Buffer, onSent: () => void = () => undefined): Promise<void> | undefined {
    if (this.#settled) return this.#failure();
    this.crc32 = crc32(chunk, this.crc32);
    const written = (error?: Error | null) => error ?? onSent();
    const room = this.#writeFramed(chunk, written);
    this.bytes += chunk.length;
    return room || this.bytes === this.#part.length ? undefined : this.#drained();
  }

  /** Ends the part with its checksum, which the store compares with its own (`BadDigest`). */
  async finish(): Promise<StoredPart> {
    this.#sent.request.end(`\r\n0\r\n${CHECKSUM}:${crc32Text(this.crc32)}\r\n\r\n`);
    const { headers } = await this.#response();
    const etag = headers.etag || noAnswerOfS3(ACTION);
    return { number: this.#part.number, bytes: this.bytes, etag, crc32: this.crc32 };
  }

  destroy(): void {
    this.#sent.request.destroy();
  }

  /** `aws-chunked`: every frame is its length in hexadecimal, its bytes, and a line break. */
  #writeFramed(chunk: Buffer, written: (error?: Error | null) => void): boolean {
    const { request } = this.#sent;
    const inFrame = this.bytes % FRAME_BYTES;
    if (inFrame > 0 && inFrame + chunk.length <= FRAME_BYTES) return request.write(chunk, written);
    let room = true;
    for (let at = 0; at < chunk.length; ) {
      const place = this.bytes + at;
      const left = FRAME_BYTES - (place % FRAME_BYTES);
      if (left === FRAME_BYTES) {
        const frame = Math.min(FRAME_BYTES, this.#part.length - place);
        request.write(`${place === 0 ? '' : '\r\n'}${frame.toString(16)}\r\n`);
      }
      const last = at + left >= chunk.length;
      room = request.write(chunk.subarray(at, at + left), last ? written : undefined);
      at += left;
    }
    return room;
  }

  #drained(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wake = undefined;
        this.destroy();
        reject(new RetryableError('store-unavailable', `The bucket took nothing for ${this.#idleMs / 1000} seconds.`));
      }, this.#idleMs);
      this.#wake = () => {
        this.#wake = undefined;
        clearTimeout(timer);
        resolve(this.#settled ? this.#failure() : undefined);
      };
    });
  }

  async #response() {
    return readResponse(await this.#sent.response, { action: ACTION, withinMs: this.#idleMs });
  }

  /** Throws the error for a response, or a failure, that came before the last byte was written. */
  async #failure(): Promise<never> {
    await this.#response();
    throw new RetryableError('store-unavailable', 'The bucket answered before it had the whole part.');
  }
}

function framedHeaders(length: number): Record<string, string> {
  return {
    'content-encoding': 'aws-chunked',
    'content-length': String(framedLength(length)),
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': String(length),
    'x-amz-trailer': CHECKSUM,
  };
}

/** The length of a body in frames, including its trailer. */
function framedLength(length: number): number {
  const rest = length % FRAME_BYTES;
  const frame = (bytes: number) => bytes.toString(16).length + 2 + bytes + 2;
  const frames = Math.floor(length / FRAME_BYTES) * frame(FRAME_BYTES) + (rest > 0 ? frame(rest) : 0);
  // The last frame is empty: `0`, then the trailer with eight characters of base64.
  return frames + 3 + CHECKSUM.length + 1 + 8 + 4;
}
