import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunError } from '../../core/errors.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { readObject } from '../../core/storage/read-object.ts';

/** A version of an object in the bucket. */
export interface Found {
  key: string;
  etag: string;
  bytes: number;
}

const PREFIX = 'feed-';

/** Copies of objects in a folder on the function's own disk. Each object is read once. */
export class LocalCopies {
  readonly #bucket: Bucket;
  readonly #onProgress: () => void;
  readonly #paths = new Map<string, string>();
  #folder: Promise<string> | undefined;

  constructor(bucket: Bucket, onProgress: () => void) {
    this.#bucket = bucket;
    this.#onProgress = onProgress;
  }

  /** The folder of this instance for all files of the function on the disk. */
  folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), PREFIX));
    return this.#folder;
  }

  /** The copy of an object that was read before. */
  known(object: Omit<Found, 'bytes'>): string | undefined {
    return this.#paths.get(nameOf(object));
  }

  /** @returns the path; `undefined` if the object was removed or replaced */
  async read(found: Found): Promise<string | undefined> {
    const path = this.known(found) ?? join(await this.folder(), `${this.#paths.size}.parquet`);
    if (this.known(found) !== undefined) return path;
    try {
      await writeFile(path, this.#chunks(found));
    } catch (error) {
      if (error instanceof RunError && error.name === 'StorageConflict') return undefined;
      throw error;
    }
    this.keep(found, path);
    return path;
  }

  /** Registers a file in the folder as the copy of an object, so that the object is not read. */
  keep(object: Omit<Found, 'bytes'>, path: string): void {
    this.#paths.set(nameOf(object), path);
  }

  /** Removes the folder. */
  async close(): Promise<void> {
    const folder = await this.#folder;
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    this.#folder = undefined;
    this.#paths.clear();
  }

  async *#chunks({ key, etag, bytes: size }: Found): AsyncGenerator<Uint8Array> {
    let read = 0;
    for await (const chunk of readObject(this.#bucket, key, { from: 0, size, object: { etag } })) {
      this.#onProgress();
      read += chunk.byteLength;
      yield chunk;
    }
    // An error page of a proxy must not become the copy of a table.
    if (read !== size) throw new RunError('StorageUnavailable', `S3 returned ${read} bytes of ${key}, not ${size}.`);
  }
}

function nameOf({ key, etag }: Omit<Found, 'bytes'>): string {
  return `${etag} ${key}`;
}
