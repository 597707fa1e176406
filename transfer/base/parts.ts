import type { Limits } from './limits.ts';

const MIB = 1024 * 1024;
/** Two parts for every connection keep all connections busy to the end. More parts cost more requests. */
const PARTS_PER_CONNECTION = 2;

/** The part size for a file of known size. With 64 MiB at most, the 10,000 parts of S3 hold 625 GiB. */
export function partBytesFor(size: number, connections: number, limits: Limits): number {
  const wanted = Math.ceil(size / (PARTS_PER_CONNECTION * connections));
  const bounded = Math.min(Math.max(wanted, limits.smallestPartBytes), limits.largestPartBytes);
  return bounded >= MIB ? Math.ceil(bounded / MIB) * MIB : bounded;
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

/** A part that the store holds. */
export interface StoredPart {
  number: number;
  bytes: number;
  etag: string;
  crc32: number;
}

export const bytesOf = (parts: readonly StoredPart[]) => parts.reduce((sum, { bytes }) => sum + bytes, 0);
