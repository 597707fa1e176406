import type { ClientRequest } from 'node:http';
import { crc32 } from 'node:zlib';
import { crc32Text, crc32Value } from '../base/crc32.ts';
import type { Sent } from '../base/http.ts';
import { RetryableError } from '../base/retry.ts';
import { TransferError } from '../base/transfer-error.ts';
import type { Limits, StoreOptions } from '../base/types.ts';
import { readResponse, type StoreClient } from './client.ts';

/** A part that the store has. */
export interface StoredPart {
  number: number;
  bytes: number;
  etag: string;
  crc32: number;
}

/** Pieces of a part in the encoding that lets a checksum follow the bytes; S3 wants at least 8 KiB. */
const FRAME_BYTES = 1024 * 1024;
const TRAILER = 'x-amz-checksum-crc32';

/**
 * One part on its way: bytes are measured and written as they come, never kept. The length is declared beforehand, and the
 * part counts only when the store answers it with the checksum that was measured here.
 */
export class PartUpload {
  readonly #number: number;
  readonly #length: number;
  readonly #trailer: boolean;
  readonly #sent: Sent;
  readonly #request: ClientRequest;
  readonly #idleMs: number;
  #refused = false;
  #wake: (() => void) | undefined;
  bytes = 0;
  crc32 = 0;

  constructor(sent: Sent, part: { number: number; length: number }, trailer: boolean, limits: Limits) {
    this.#number = part.number;
    this.#length = part.length;
    this.#trailer = trailer;
    this.#sent = sent;
    this.#request = sent.request;
    this.#idleMs = limits.idleMs;
    const wake = () => this.#wake?.();
    this.#request.on('drain', wake);
    // An answer, or a failure, before the last byte is a refusal.
    const refused = () => {
      this.#refused = true;
      wake();
    };
    sent.answer.then(refused, refused);
  }

  /** Writes bytes; more are welcome at once, or when the promise resolves. It rejects with what a refusal means, or RetryableError. */
  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#refused) return this.#failure();
    this.crc32 = crc32(chunk, this.crc32);
    const welcome = this.#trailer ? this.#writeFramed(chunk) : this.#request.write(chunk);
    this.bytes += chunk.length;
    return welcome || this.bytes === this.#length ? undefined : this.#drained();
  }

  /**
   * Ends the part. Sent without a checksum, it counts by nothing but the one that the store answers.
   * @throws RetryableError when the store measured something else; TransferError when it was to measure, and did not
   */
  async finish(): Promise<StoredPart> {
    if (this.#trailer) this.#request.end(`\r\n0\r\n${TRAILER}:${crc32Text(this.crc32)}\r\n\r\n`);
    else this.#request.end();
    const { headers } = await readResponse(await this.#sent.answer, { how: 'stored in part', withinMs: this.#idleMs });
    const answered = crc32Value(headers[TRAILER] as string | undefined);
    if (answered === null && !this.#trailer) {
      throw new TransferError(
        'store-unavailable',
        'The bucket answered a part that came without a checksum without its checksum.',
      );
    }
    if (answered !== null && answered !== this.crc32) {
      throw new RetryableError('store-unavailable', 'The bucket measured another checksum of a part than was sent.');
    }
    return { number: this.#number, bytes: this.bytes, etag: headers.etag ?? '', crc32: this.crc32 };
  }

  destroy(): void {
    this.#request.destroy();
  }

  /** `aws-chunked`: every frame is its length in hexadecimal, its bytes, and a line break. */
  #writeFramed(chunk: Buffer): boolean {
    const inFrame = this.bytes % FRAME_BYTES;
    if (inFrame > 0 && inFrame + chunk.length <= FRAME_BYTES) return this.#request.write(chunk);
    let welcome = true;
    for (let at = 0; at < chunk.length; ) {
      const place = this.bytes + at;
      const left = FRAME_BYTES - (place % FRAME_BYTES);
      if (left === FRAME_BYTES) this.#beginFrame(place);
      welcome = this.#request.write(chunk.subarray(at, at + left));
      at += left;
    }
    return welcome;
  }

  #beginFrame(place: number): void {
    const frame = Math.min(FRAME_BYTES, this.#length - place);
    this.#request.write(`${place === 0 ? '' : '\r\n'}${frame.toString(16)}\r\n`);
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
        resolve(this.#refused ? this.#failure() : undefined);
      };
    });
  }

  /** What the store said before it had everything. */
  async #failure(): Promise<never> {
    await readResponse(await this.#sent.answer, { how: 'stored in part', withinMs: this.#idleMs });
    throw new RetryableError('store-unavailable', 'The bucket answered before it had the whole part.');
  }
}

/** Begins a part of known length. */
export async function beginPart(
  calls: StoreClient,
  upload: { key: string; uploadId: string },
  part: { number: number; length: number },
  { partChecksums }: Pick<StoreOptions, 'partChecksums'>,
  limits: Limits,
): Promise<PartUpload> {
  const trailer = partChecksums === 'trailer' && part.length > 0;
  const sent = await calls.begin({
    method: 'PUT',
    key: upload.key,
    query: { partNumber: String(part.number), uploadId: upload.uploadId },
    headers: trailer ? framedHeaders(part.length) : { 'content-length': String(part.length) },
    how: 'stored in part',
  });
  return new PartUpload(sent, part, trailer, limits);
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
  const whole = Math.floor(length / FRAME_BYTES);
  const rest = length % FRAME_BYTES;
  const frame = (bytes: number) => bytes.toString(16).length + 2 + bytes + 2;
  const frames = whole * frame(FRAME_BYTES) + (rest > 0 ? frame(rest) : 0);
  // The last frame is empty: `0`, then the trailer with eight characters of base64.
  return frames + 3 + TRAILER.length + 1 + 8 + 4;
}
