import type { Limits } from './types.ts';

const MIB = 1024 * 1024;
/** S3 allows 10,000 parts; some are left for what a plan does not foresee. */
const MOST_PARTS = 9_000;
/** All that S3 allows. */
export const ALL_PARTS = 10_000;
/** S3 allows no larger part; its largest object needs nearly all 10,000 of them. */
const LARGEST_PART_BYTES = 5 * 1024 * MIB;
/** Parts of unknown total double in size after every so many, */
const DOUBLES_AFTER = 1_000;
/** at most so often: they are kept in memory, two at a time. */
const DOUBLINGS = 3;

/** So many for every connection: all are busy to the end, and no more, for each is a request that costs. */
const PARTS_EACH = 2;

/** The part size for a file of known size. */
export function partBytesFor(size: number, connections: number, limits: Limits): number {
  const wanted = Math.ceil(size / (PARTS_EACH * connections));
  const bounded = Math.min(Math.max(wanted, limits.smallestPartBytes), limits.largestPartBytes);
  const enough = Math.min(Math.max(bounded, Math.ceil(size / MOST_PARTS)), LARGEST_PART_BYTES);
  return enough >= MIB ? Math.ceil(enough / MIB) * MIB : enough;
}

/** A part of a file: bytes from `from` up to, not including, `to`. */
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

/**
 * The size of a part of a file of unknown size: 1,000 parts of the first size (16 MiB), 1,000 of double that, and so on up to
 * 128 MiB: 10,000 parts, which is all that S3 allows, reach 980 GiB.
 */
export function growingPartBytes(number: number, first: number): number {
  return first * 2 ** Math.min(Math.floor((number - 1) / DOUBLES_AFTER), DOUBLINGS);
}
