import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { combineCrc32, crc32Text, crc32Value } from '../base/crc32.ts';
import { type RequestContext, RetryableError, withRetries } from '../base/retry.ts';
import type { Resume, StoreOptions } from '../base/types.ts';
import { Body } from '../source/body.ts';
import { type Answer, readResponse, StoreClient } from './client.ts';
import { NoSuchUpload } from './failures.ts';
import { beginPart, type PartUpload, type StoredPart } from './part-upload.ts';
import { elementsOf, escaped, textOf } from './xml.ts';

/** Most requests to end one upload. */
const ABORTS = 3;

type Upload = Pick<Resume, 'key' | 'uploadId'>;

/** The operations of S3 that a transfer needs, each with the checks that make its answer trustworthy. */
export class Store {
  readonly #options: StoreOptions;
  readonly #context: RequestContext;
  readonly #calls: StoreClient;

  constructor(options: StoreOptions, context: RequestContext) {
    this.#options = options;
    this.#context = context;
    this.#calls = new StoreClient(options, context);
  }

  /** Begins an upload in parts and returns its id. */
  async create(key: string, contentType: string): Promise<string> {
    const { text } = await this.#calls.call({
      method: 'POST',
      key,
      query: { uploads: '' },
      headers: {
        'content-type': contentType,
        'x-amz-checksum-algorithm': 'CRC32',
        'x-amz-checksum-type': 'FULL_OBJECT',
      },
      body: '',
      how: 'begun',
    });
    return textOf(text, 'UploadId') ?? '';
  }

  /** Begins one part, whose bytes the caller writes. Not repeated: those bytes are gone once written. */
  beginPart(upload: Upload, part: { number: number; length: number }): Promise<PartUpload> {
    return beginPart(this.#calls, upload, part, this.#options, this.#context.limits);
  }

  /** Stores one part that is in memory. */
  putPart(upload: Upload, number: number, body: Buffer): Promise<StoredPart> {
    return withRetries(this.#context, async () => {
      const part = await this.beginPart(upload, { number, length: body.length });
      try {
        await part.write(body);
        return await part.finish();
      } catch (error) {
        part.destroy();
        throw error;
      }
    });
  }

  /** All parts that the store has, with the checksum of each. @throws NoSuchUpload */
  async parts({ key, uploadId }: Upload): Promise<StoredPart[]> {
    const found: StoredPart[] = [];
    for (let marker = '0'; ; ) {
      const query = { uploadId, 'part-number-marker': marker };
      const { text } = await this.#calls.call({ method: 'GET', key, query, how: 'looked up' });
      found.push(...elementsOf(text, 'Part').flatMap(partOf));
      if (textOf(text, 'IsTruncated') !== 'true') return found;
      marker = textOf(text, 'NextPartNumberMarker') ?? String(found.at(-1)?.number ?? 0);
    }
  }

  /**
   * Ends an upload and forgets its parts. A part that was still on its way may arrive after that and stay (documented for
   * S3, seen at versitygw): so it is ended until the store knows it no more.
   */
  async abort({ key, uploadId }: Upload): Promise<void> {
    const { limits, signal } = this.#context;
    try {
      for (let times = 0; times < ABORTS; times += 1) {
        if (times > 0) await sleep(limits.firstBackoffMs, undefined, { signal });
        await this.#calls.call({ method: 'DELETE', key, query: { uploadId }, how: 'given up' });
      }
    } catch (error) {
      if (!(error instanceof NoSuchUpload)) throw error;
    }
  }

  /** The one call that makes an object of parts. Once: whether it may be repeated is the caller's to know (`commit.ts`). */
  complete({ key, uploadId }: Upload, parts: StoredPart[], total: { bytes: number; crc32: number }): Promise<Answer> {
    return this.#calls.once({
      method: 'POST',
      key,
      query: { uploadId },
      headers: {
        'content-type': 'application/xml',
        'if-none-match': '*',
        'x-amz-mp-object-size': String(total.bytes),
        ...(this.#options.objectChecksum && {
          'x-amz-checksum-crc32': crc32Text(total.crc32),
          'x-amz-checksum-type': 'FULL_OBJECT',
        }),
      },
      body: completeBody(parts),
      how: 'completed',
      answerMs: this.#context.limits.completeMs,
    });
  }

  /** Stores a small object in one call. Once, as `complete`. @throws RetryableError when the store measured something else */
  async put(key: string, contentType: string, body: Buffer, checksum: number): Promise<void> {
    const sent = { 'content-type': contentType, 'if-none-match': '*', 'x-amz-checksum-crc32': crc32Text(checksum) };
    const { headers } = await this.#calls.once({ method: 'PUT', key, headers: sent, body, how: 'stored' });
    const answered = crc32Value(headers['x-amz-checksum-crc32'] as string | undefined);
    if (answered !== null && answered !== checksum) {
      throw new RetryableError('store-unavailable', 'The bucket measured another checksum of the file than was sent.');
    }
  }

  /** Size and CRC-32 of the object that stands at a key; `undefined` when none can be seen there. */
  async measure(key: string): Promise<{ bytes: number; crc32: number } | undefined> {
    // Without a right to list, what is absent looks forbidden.
    const call = { key, headers: { 'x-amz-checksum-mode': 'ENABLED' }, how: 'looked at', accept: [403, 404] };
    const { status, headers } = await this.#calls.call({ method: 'HEAD', ...call });
    if (status >= 300) return undefined;
    const checksum = crc32Value(headers['x-amz-checksum-crc32'] as string | undefined);
    if (checksum !== null) return { bytes: Number(headers['content-length']), crc32: checksum };
    return withRetries(this.#context, () => this.#readBack(key));
  }

  /** Where the store keeps no checksum of whole objects, its bytes are the only proof. */
  async #readBack(key: string): Promise<{ bytes: number; crc32: number }> {
    const { request, answer } = await this.#calls.begin({ method: 'GET', key, how: 'read back' });
    request.end();
    const response = await answer;
    const { firstByteMs: withinMs } = this.#context.limits;
    if (response.statusCode !== 200) await readResponse(response, { how: 'read back', withinMs });
    const body = new Body(response, this.#context);
    const measured = { bytes: 0, crc32: 0 };
    for (let chunk = await body.next(); chunk; chunk = await body.next()) {
      measured.bytes += chunk.length;
      measured.crc32 = crc32(chunk, measured.crc32);
    }
    return measured;
  }

  close(): void {
    this.#calls.close();
  }
}

/** A part without a checksum of its own cannot be trusted to be what was sent: it is sent again. */
function partOf(xml: string): StoredPart[] {
  const checksum = crc32Value(textOf(xml, 'ChecksumCRC32'));
  const [number, bytes] = [Number(textOf(xml, 'PartNumber')), Number(textOf(xml, 'Size'))];
  return checksum === null ? [] : [{ number, bytes, etag: textOf(xml, 'ETag') ?? '', crc32: checksum }];
}

/** The checksum of every part is named as well: some stores insist on it, all check it. */
function completeBody(parts: StoredPart[]): string {
  const lines = parts.map(
    ({ number, etag, crc32: checksum }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag><ChecksumCRC32>${crc32Text(checksum)}</ChecksumCRC32></Part>`,
  );
  const space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<CompleteMultipartUpload ${space}>${lines.join('')}</CompleteMultipartUpload>`;
}

/** CRC-32 of an object from those of its parts, in order. */
export function crc32Of(parts: readonly StoredPart[]): number {
  return parts.reduce((sum, part) => combineCrc32(sum, part.crc32, part.bytes), 0);
}
