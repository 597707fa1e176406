import { crc32 } from 'node:zlib';
import { crc32Text, crc32Value } from '../base/crc32.ts';
import { RetryableError } from '../base/errors.ts';
import type { SentRequest } from '../base/http.ts';
import type { StoredPart } from '../base/parts.ts';
import { readResponse, type StoreClient } from './client.ts';

/** Frames of the encoding that lets a checksum follow the bytes; S3 wants at least 8 KiB. */
const FRAME_BYTES = 1024 * 1024;
const TRAILER = 'x-amz-checksum-crc32';
const ACTION = 'stored in part';

type UploadPart = { number: number; length: number };

/** Begins a part of known length, whose bytes the caller writes; their CRC-32 follows them, and the store compares it. */
export async function beginPart(
  client: StoreClient,
  { key, uploadId }: { key: string; uploadId: string },
  part: UploadPart,
): Promise<PartUpload> {
  const sent = await client.begin({
    method: 'PUT',
    key,
    query: { partNumber: String(part.number), uploadId },
    headers: framedHeaders(part.length),
    action: ACTION,
  });
  return new PartUpload(sent, part, client.context.limits.idleMs);
}

/** One part on its way: its bytes are checksummed and written as they come, never kept. */
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
   * Writes bytes; more may follow at once, or when the promise resolves. It rejects where the store has refused the part.
   * @param onSent called when the connection has taken all of them, and their memory may be used again
   */
  write(chunk: Buffer, onSent: () => void = () => undefined): Promise<void> | undefined {
    if (this.#settled) return this.#failure();
    this.crc32 = crc32(chunk, this.crc32);
    const written = (error?: Error | null) => error ?? onSent();
    const room = this.#writeFramed(chunk, written);
    this.bytes += chunk.length;
    return room || this.bytes === this.#part.length ? undefined : this.#drained();
  }

  /** Ends the part. @throws RetryableError when the store computed another checksum */
  async finish(): Promise<StoredPart> {
    this.#sent.request.end(`\r\n0\r\n${TRAILER}:${crc32Text(this.crc32)}\r\n\r\n`);
    const { headers } = await this.#response();
    const checksum = crc32Value(headers[TRAILER]);
    if (checksum !== null && checksum !== this.crc32) {
      throw new RetryableError('store-unavailable', 'The bucket measured another checksum of a part than was sent.');
    }
    return { number: this.#part.number, bytes: this.bytes, etag: headers.etag ?? '', crc32: this.crc32 };
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

  /** A response, or a failure, before the last byte was written. */
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
    'x-amz-trailer': TRAILER,
  };
}

/** The length of a body in frames, its trailer included. */
function framedLength(length: number): number {
  const rest = length % FRAME_BYTES;
  const frame = (bytes: number) => bytes.toString(16).length + 2 + bytes + 2;
  const frames = Math.floor(length / FRAME_BYTES) * frame(FRAME_BYTES) + (rest > 0 ? frame(rest) : 0);
  // The last frame is empty: `0`, then the trailer with eight characters of base64.
  return frames + 3 + TRAILER.length + 1 + 8 + 4;
}
