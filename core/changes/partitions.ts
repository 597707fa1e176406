import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** What is gathered for a partition before it is written. */
const GATHERED_BYTES = 64 * 1024;

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

  /** @param dir takes `count` files whose names begin with `name` */
  constructor(dir: string, name: string, count: number) {
    this.#parts = Array.from({ length: count }, (_, place) => ({
      path: join(dir, `${name}-${place}`),
      length: 0,
      written: 0,
    }));
  }

  /** @param hash decides which part takes the bytes */
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
    part.file ??= openSync(part.path, 'w');
    for (let at = 0; at < bytes.length; ) at += writeSync(part.file, bytes, at);
    part.written += bytes.length;
  }

  /** Ends the writing. */
  finish(): void {
    for (const part of this.#parts) {
      this.#flush(part);
      part.gathered = undefined;
    }
    this.close();
  }

  /** Bytes of the largest part, when all is written. */
  get largest(): number {
    return this.#parts.reduce((largest, { written }) => Math.max(largest, written), 0);
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
