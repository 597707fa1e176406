import type { Limits } from './limits.ts';

const MIB = 1024 * 1024;
/** The limits of S3. */
export const S3_MOST_PARTS = 10_000;
const S3_LARGEST_PART_BYTES = 5 * 1024 * MIB;
/** The planned number of parts, which leaves spare ones. A file of more than 43 TiB needs nearly all 10,000. */
const PLANNED_PARTS = 9_000;
/** Two parts for every connection keep all connections busy to the end. More parts cost more requests. */
const PARTS_PER_CONNECTION = 2;
/** Parts of a file of unknown size double after every 1,000 parts, three times at most: memory holds two of them. */
const DOUBLES_AFTER = 1_000;
const DOUBLINGS = 3;

/** The part size for a file of known size. */
export function partBytesFor(size: number, connections: number, limits: Limits): number {
  const wanted = Math.ceil(size / (PARTS_PER_CONNECTION * connections));
  const bounded = Math.min(Math.max(wanted, limits.smallestPartBytes), limits.largestPartBytes);
  const enough = Math.min(Math.max(bounded, Math.ceil(size / PLANNED_PARTS)), S3_LARGEST_PART_BYTES);
  return enough >= MIB ? Math.ceil(enough / MIB) * MIB : enough;
}

/** Bytes from `from` up to, not including, `to`. */
export interface Part {
  number: number;
  from: number;
  to: number;
}

/** All parts of a file of known size, in order. */
export function partsOf(size: number, partBytes: number): Part[] {
  return Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => ({
    number: index + 1,
    from: index * partBytes,
    to: Math.min((index + 1) * partBytes, size),
  }));
}

/** The size of a part of a file of unknown size: with 16 MiB at first, 10,000 parts reach 980 GiB. */
export function growingPartBytes(number: number, first: number): number {
  return first * 2 ** Math.min(Math.floor((number - 1) / DOUBLES_AFTER), DOUBLINGS);
}

/** A part that the store holds. */
export interface StoredPart {
  number: number;
  bytes: number;
  etag: string;
  crc32: number;
}

export const bytesOf = (parts: readonly StoredPart[]) => parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** The parts from the first one up to the first gap. */
export function prefixOf(parts: readonly StoredPart[]): StoredPart[] {
  const sorted = parts.toSorted((a, b) => a.number - b.number);
  const gap = sorted.findIndex(({ number }, index) => number !== index + 1);
  return gap < 0 ? sorted : sorted.slice(0, gap);
}
