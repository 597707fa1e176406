import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { FeedError } from './feed-error.ts';

/** What is gathered for a partition before it is written. */
const GATHERED_BYTES = 64 * 1024;
/** Both sides of a part are in memory. The parts of 1 GB have 6 MB each, unless many rows have one key. */
const LARGEST_PART = 128 * 1024 * 1024;

interface Partition {
  path: string;
  /** Not before there is something to gather. */
  gathered?: Buffer;
  length: number;
  written: number;
  file?: number;
}

/**
 * The rows of a table in parts on the disk, each of them small enough for the memory. Calls wait for the disk: nothing else goes on
 * meanwhile, and a promise for each row would cost more.
 */
export class Partitions {
  readonly #parts: Partition[];
  readonly #claim: (bytes: number) => void;

  /**
   * @param path what the paths of `count` files begin with
   * @param claim called before so many bytes are put on the disk; what it throws ends the writing
   */
  constructor(path: string, count: number, claim: (bytes: number) => void) {
    this.#parts = Array.from({ length: count }, (_, place) => ({ path: `${path}-${place}`, length: 0, written: 0 }));
    this.#claim = claim;
  }

  /** @param hash decides which part takes the bytes @throws FeedError where they are too many for the memory */
  add(hash: number, bytes: Buffer): void {
    const part = this.#parts[hash % this.#parts.length] as Partition;
    if (part.length + bytes.length > GATHERED_BYTES) this.#flush(part);
    if (bytes.length > GATHERED_BYTES) {
      this.#write(part, bytes);
      return;
    }
    part.gathered ??= Buffer.allocUnsafe(GATHERED_BYTES);
    part.length += bytes.copy(part.gathered, part.length);
  }

  #flush(part: Partition): void {
    if (part.gathered) this.#write(part, part.gathered.subarray(0, part.length));
    part.length = 0;
  }

  #write(part: Partition, bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#claim(bytes.length);
    part.written += bytes.length;
    if (part.written > LARGEST_PART)
      throw new FeedError('Too many rows have the same key: `changes.key` has to name others.');
    part.file ??= openSync(part.path, 'w');
    for (let at = 0; at < bytes.length; ) at += writeSync(part.file, bytes, at);
  }

  /** Ends the writing. @throws FeedError as `add` does */
  finish(): void {
    for (const part of this.#parts) {
      this.#flush(part);
      part.gathered = undefined;
    }
    this.close();
  }

  /** What a part has; it can be taken once. */
  take(place: number): Buffer {
    const { path, written } = this.#parts[place] as Partition;
    if (written === 0) return Buffer.alloc(0);
    const bytes = readFileSync(path);
    rmSync(path);
    return bytes;
  }

  close(): void {
    for (const part of this.#parts) {
      if (part.file !== undefined) closeSync(part.file);
      part.file = undefined;
    }
  }
}
