import type { Limits } from '../../transfer/base/limits.ts';

export const KIB = 1024;
/** The smallest part and the largest file stored in one call; 8 and 16 MiB in production. */
export const PART = 64 * KIB;

/** Sizes a thousand times smaller than in production, and waits that are short but long enough for a busy machine. */
export const LIMITS: Partial<Limits> = {
  connectMs: 2_000,
  firstByteMs: 3_000,
  idleMs: 3_000,
  floorMs: 5_000,
  surplusMs: 60,
  completeMs: 3_000,
  firstBackoffMs: 1,
  largestBackoffMs: 4,
  longestWaitSeconds: 1,
  bufferBytes: PART,
  smallestPartBytes: PART,
  largestPartBytes: 4 * PART,
  recordFromBytes: Number.POSITIVE_INFINITY,
  measureMs: 10_000,
};
