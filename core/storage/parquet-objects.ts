import { createReadStream } from 'node:fs';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { RunError } from '../errors.ts';
import { isGone, refusedCondition, storageError } from './storage-errors.ts';

const CONTENT_TYPE = 'application/vnd.apache.parquet';

/** A Parquet file of the bucket, without its bytes. */
export interface ParquetObject {
  etag: string;
  bytes: number;
  metadata: Record<string, string>;
}

/** The Parquet files of a bucket: tables, feeds, and copies of tables. */
export interface ParquetObjects {
  /** `undefined` if there is none. @throws RunError `StorageDenied` or `StorageUnavailable` */
  head(key: string): Promise<ParquetObject | undefined>;
  /** Begins to write a file. @param metadata of the object; its values are ASCII */
  begin(key: string, metadata: Record<string, string>): ParquetUpload;
  /**
   * Stores a file of the disk.
   * @param etag of the object that it replaces; `undefined` if there is none
   * @returns whether no other write came in between
   */
  put(key: string, path: string, metadata: Record<string, string>, etag?: string): Promise<boolean>;
}

/** Parts of this size reach 80 GB: S3 takes 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024;

/** @param count called for every request, except retries of the client */
export function parquetObjects(
  client: S3Client,
  bucket: string,
  count: () => void = () => undefined,
  partBytes = PART_BYTES,
): ParquetObjects {
  const begin = (key: string, metadata: Record<string, string>) =>
    new ParquetUpload({ client, bucket, key, count, partBytes }, metadata);
  return {
    begin,
    head: async (key) => {
      count();
      try {
        const { ETag, ContentLength, Metadata } = await client.send(
          new HeadObjectCommand({ Bucket: bucket, Key: key }),
        );
        // A page of something in front of S3 would count as an object without metadata.
        if (!ETag) throw new RunError('StorageUnavailable', `The answer for ${key} names no object.`);
        return { etag: ETag, bytes: ContentLength ?? 0, metadata: Metadata ?? {} };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw storageError(error, 'read', key);
      }
    },
    put: async (key, path, metadata, etag) => {
      const upload = begin(key, metadata);
      try {
        for await (const chunk of createReadStream(path)) await upload.write(chunk);
        return (await upload.complete(etag)) !== undefined;
      } finally {
        // What cannot be removed now, the lifecycle rules remove.
        await upload.abort().catch(() => undefined);
      }
    },
  };
}

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
class ParquetUpload {
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
