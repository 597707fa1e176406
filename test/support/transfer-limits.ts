import type { Limits } from '../../transfer/base/limits.ts';

export const KIB = 1024;
/** The smallest part and the largest file stored in one call; 8 and 16 MiB in production. */
export const PART = 64 * KIB;

/** Sizes a thousand times smaller than in production, and time limits that no busy machine reaches. */
export const LIMITS: Partial<Limits> = {
  connectMs: 20_000,
  firstByteMs: 30_000,
  idleMs: 30_000,
  floorMs: 50_000,
  surplusMs: 60,
  completeMs: 30_000,
  firstBackoffMs: 1,
  largestBackoffMs: 4,
  longestWaitSeconds: 1,
  bufferBytes: PART,
  smallestPartBytes: PART,
  largestPartBytes: 4 * PART,
  recordFromBytes: Number.POSITIVE_INFINITY,
};

/** Short time limits, for tests with a silent side. */
export const IMPATIENT: Partial<Limits> = { connectMs: 150, firstByteMs: 150, idleMs: 150, completeMs: 150 };

/** A process with time for so many checks of the clock, and then with none. */
export function secondsFor(looks: number): () => number {
  let left = looks;
  return () => {
    left -= 1;
    return left < 0 ? 1 : 100;
  };
}
