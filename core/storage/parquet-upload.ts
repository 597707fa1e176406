import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { RunError } from '../errors.ts';
import { isGone, refusedCondition, storageError } from './storage-errors.ts';

const CONTENT_TYPE = 'application/vnd.apache.parquet';

interface UploadOptions {
  client: S3Client;
  bucket: string;
  key: string;
  /** Called for every request, except retries of the client. */
  count: () => void;
  /** Every part but the last has at least so many, which bounds what is held in memory. */
  partBytes: number;
}

/**
 * A Parquet file that is being written: one object, of as many parts as it takes. Nothing is in its place before `complete`. Every
 * method throws RunError `StorageDenied` or `StorageUnavailable`.
 */
export class ParquetUpload {
  readonly #options: UploadOptions;
  readonly #described: { Bucket: string; Key: string; ContentType: string; Metadata: Record<string, string> };
  readonly #parts: CompletedPart[] = [];
  #uploadId: string | undefined;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #bytes = 0;

  constructor(options: UploadOptions, Metadata: Record<string, string>) {
    this.#options = options;
    this.#described = { Bucket: options.bucket, Key: options.key, ContentType: CONTENT_TYPE, Metadata };
  }

  async write(chunk: Uint8Array): Promise<void> {
    // Whoever wrote it may use its memory again.
    this.#pending.push(Buffer.from(chunk));
    this.#pendingBytes += chunk.byteLength;
    this.#bytes += chunk.byteLength;
    if (this.#pendingBytes >= this.#options.partBytes) await this.#sendPart();
  }

  /**
   * Puts the file in its place, whole or not at all.
   * @param etag of the one that it replaces; `undefined` where there is none
   * @returns its size; `undefined` where another has come in between
   */
  async complete(etag: string | undefined): Promise<number | undefined> {
    const condition = etag === undefined ? { IfNoneMatch: '*' } : { IfMatch: etag };
    if (this.#uploadId !== undefined && this.#pendingBytes > 0) await this.#sendPart();
    try {
      await this.#commit(condition);
      this.#uploadId = undefined;
      return this.#bytes;
    } catch (error) {
      // One that was removed meanwhile is answered like an unknown key (docs/adr/0006).
      if (refusedCondition(error) || (etag !== undefined && isGone(error))) return undefined;
      throw storageError(error, 'write', this.#options.key);
    }
  }

  /** Aborts the upload. Where that is left out, the lifecycle rules remove the parts. */
  async abort(): Promise<void> {
    if (this.#uploadId === undefined) return;
    const aborted = { ...this.#object, UploadId: this.#uploadId };
    await this.#sent((client) => client.send(new AbortMultipartUploadCommand(aborted)));
    this.#uploadId = undefined;
  }

  async #sendPart(): Promise<void> {
    const Body = this.#taken();
    // One algorithm for all, or S3 refuses the parts.
    const ChecksumAlgorithm = 'CRC32';
    if (this.#uploadId === undefined) {
      const begun = { ...this.#described, ChecksumAlgorithm } as const;
      const { UploadId } = await this.#sent((client) => client.send(new CreateMultipartUploadCommand(begun)));
      const { key } = this.#options;
      if (!UploadId) throw new RunError('StorageUnavailable', `What was answered for ${key} names no upload.`);
      this.#uploadId = UploadId;
    }
    const PartNumber = this.#parts.length + 1;
    const part = { ...this.#object, UploadId: this.#uploadId, PartNumber, ChecksumAlgorithm, Body } as const;
    const { ETag, ChecksumCRC32 } = await this.#sent((client) => client.send(new UploadPartCommand(part)));
    this.#parts.push({ PartNumber, ETag, ChecksumCRC32 });
  }

  async #commit(condition: { IfNoneMatch: string } | { IfMatch: string }): Promise<void> {
    const { client, count } = this.#options;
    count();
    if (this.#uploadId === undefined) {
      await client.send(new PutObjectCommand({ ...this.#described, ...condition, Body: this.#taken() }));
      return;
    }
    const whole = { ...this.#object, UploadId: this.#uploadId, MultipartUpload: { Parts: this.#parts } };
    await client.send(new CompleteMultipartUploadCommand({ ...whole, ...condition }));
  }

  get #object() {
    return { Bucket: this.#options.bucket, Key: this.#options.key };
  }

  #taken(): Buffer {
    const taken = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return taken;
  }

  async #sent<T>(request: (client: S3Client) => Promise<T>): Promise<T> {
    const { client, count, key } = this.#options;
    count();
    return request(client).catch((error: unknown) => {
      throw storageError(error, 'write', key);
    });
  }
}
