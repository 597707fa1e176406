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
  /** `undefined` if the object does not exist. @throws RunError `StorageDenied` or `StorageUnavailable` */
  head(key: string): Promise<ParquetObject | undefined>;
  /** Starts to write a file. @param metadata of the object; its values are ASCII */
  begin(key: string, metadata: Record<string, string>): ParquetUpload;
  /**
   * Stores a file from the disk.
   * @param etag of the object that it replaces; `undefined` if there is none
   * @returns whether no other write came in between
   */
  put(key: string, path: string, metadata: Record<string, string>, etag?: string): Promise<boolean>;
}

/** Parts of this size allow objects of 80 GB, because S3 takes 10,000 parts. */
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
        // The answer of a proxy would count as an object without metadata.
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
        // If this fails, the lifecycle rules remove the parts.
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
  /** Minimum size of every part except the last. It bounds the memory. */
  partBytes: number;
}

/**
 * A Parquet file that is being written as one object with any number of parts. The object appears only with
 * `complete`. Every method throws RunError `StorageDenied` or `StorageUnavailable`.
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
    // A copy, because the caller may reuse the memory.
    this.#pending.push(Buffer.from(chunk));
    this.#pendingBytes += chunk.byteLength;
    this.#bytes += chunk.byteLength;
    if (this.#pendingBytes >= this.#options.partBytes) await this.#sendPart();
  }

  /**
   * Completes the object.
   * @param etag of the object that it replaces; `undefined` if there is none
   * @returns its size; `undefined` if another write came in between
   */
  async complete(etag: string | undefined): Promise<number | undefined> {
    const condition = etag === undefined ? { IfNoneMatch: '*' } : { IfMatch: etag };
    if (this.#uploadId !== undefined && this.#pendingBytes > 0) await this.#sendPart();
    try {
      await this.#commit(condition);
      this.#uploadId = undefined;
      return this.#bytes;
    } catch (error) {
      // S3 answers for a removed object as for an unknown key (docs/adr/0006).
      if (refusedCondition(error) || (etag !== undefined && isGone(error))) return undefined;
      throw storageError(error, 'write', this.#options.key);
    }
  }

  /** Aborts the upload. Otherwise the lifecycle rules remove the parts. */
  async abort(): Promise<void> {
    if (this.#uploadId === undefined) return;
    const aborted = { ...this.#object, UploadId: this.#uploadId };
    await this.#sent((client) => client.send(new AbortMultipartUploadCommand(aborted)));
    this.#uploadId = undefined;
  }

  async #sendPart(): Promise<void> {
    const Body = this.#taken();
    // S3 refuses parts with different algorithms.
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
