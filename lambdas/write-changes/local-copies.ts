import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AsyncBuffer } from 'hyparquet';
import { RunError } from '../../core/errors.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { readObject } from '../../core/storage/read-object.ts';

/** An object of the bucket as it was found. */
export interface Found {
  key: string;
  etag: string;
  bytes: number;
}

const PREFIX = 'feed-';

/** Copies of objects on the function's own disk: each is read once from the bucket, and as often as it takes from here. */
export class LocalCopies {
  readonly #bucket: Bucket;
  readonly #onProgress: () => void;
  readonly #paths = new Map<string, string>();
  #folder: string | undefined;

  constructor(bucket: Bucket, onProgress: () => void) {
    this.#bucket = bucket;
    this.#onProgress = onProgress;
  }

  /** A path for a file of its own. */
  async place(name: string): Promise<string> {
    this.#folder ??= await mkdtemp(join(tmpdir(), PREFIX));
    return join(this.#folder, name);
  }

  /** @returns the path; `undefined` where the object is gone or another */
  async path(found: Found): Promise<string | undefined> {
    const known = this.#paths.get(nameOf(found));
    if (known !== undefined) return known;
    const path = await this.place(`${this.#paths.size}.parquet`);
    try {
      await writeFile(path, this.#chunks(found));
    } catch (error) {
      if (error instanceof RunError && error.name === 'StorageConflict') return undefined;
      throw error;
    }
    this.keep(found, path);
    return path;
  }

  /** Notes that an object has the bytes of a file here: it needs no reading. */
  keep(found: Omit<Found, 'bytes'>, path: string): void {
    this.#paths.set(nameOf(found), path);
  }

  /** Removes them. */
  async close(): Promise<void> {
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
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
    // The page of something that stands before S3 would be kept as the copy of a table.
    if (read !== size) throw new RunError('StorageUnavailable', `What was answered for ${key} is not the object.`);
  }
}

function nameOf({ key, etag }: Omit<Found, 'bytes'>): string {
  return `${etag} ${key}`;
}

/** Reads a file as hyparquet does; `use` must not keep the buffer. */
export async function withFile<T>(path: string, use: (file: AsyncBuffer) => Promise<T>): Promise<T> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const slice = async (from: number, to = size) => {
      const bytes = new Uint8Array(to - from);
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
        if (bytesRead === 0) throw new Error('a local copy is shorter than it was');
        at += bytesRead;
      }
      return bytes.buffer;
    };
    return await use({ byteLength: size, slice });
  } finally {
    await handle.close();
  }
}
