import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { streaming } from '../../lib/workflow/node-options.ts';
import { inChild } from '../support/children.ts';
import type { ProcessCost } from '../support/process-cost.ts';
import { TEXTS } from './texts.ts';

/** A file of which nothing is known until it is unpacked. */
export interface Packed {
  id: string;
  what: string;
  /** The content, repeated up to the size. */
  part: Buffer;
}

export interface PackedReading extends ProcessCost {
  /** Records behind the header. */
  rows: number;
}

/** The memory that PublishFile has by default. */
export const DEFAULT_MEMORY_MB = 512;

const PART_BYTES = 1_000_000;
const HEADER = 'customerId,firstName,lastName,phone,city,createdAt,status\n';
const text = (id: string) => TEXTS.find((each) => each.id === id)?.bytes(PART_BYTES) ?? Buffer.alloc(0);

export const PACKED: Packed[] = [
  { id: 'gzip', what: 'gzip of 7 short fields, Hebrew, UTF-8', part: text('hebrew') },
  { id: 'gzip-quoted', what: 'gzip of 8 fields in quotation marks', part: text('quoted') },
  { id: 'gzip-equal', what: 'gzip of equal rows', part: Buffer.alloc(PART_BYTES, '1,דנה,כהן,,,,\n') },
];

/** @returns bytes of the content */
export async function writePacked({ part }: Packed, path: string, size: number): Promise<number> {
  let bytes = 0;
  function* content() {
    for (const piece of [Buffer.from(HEADER), ...Array<Buffer>(Math.ceil(size / part.length)).fill(part)]) {
      bytes += piece.length;
      yield piece;
    }
  }
  await pipeline(Readable.from(content()), createGzip(), createWriteStream(path));
  return bytes;
}

/** Reads the file in a fresh process with the heap of the function. */
export async function readPacked(job: { path: string }): Promise<PackedReading> {
  const env = { ...process.env, ...streaming(DEFAULT_MEMORY_MB) };
  return inChild(join(import.meta.dirname, 'packed-child.ts'), job, env);
}
