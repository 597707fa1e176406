import type { Limits } from './types.ts';

const MIB = 1024 * 1024;

/** Measured and reasoned in docs/adr/0014. */
export const LIMITS: Limits = {
  connectMs: 5_000,
  firstByteMs: 30_000,
  idleMs: 20_000,
  floorMs: 30_000,
  floorBytesPerSecond: 16 * 1024,
  surplusMs: 100,
  completeMs: 300_000,
  attempts: 5,
  firstBackoffMs: 200,
  largestBackoffMs: 10_000,
  longestWaitSeconds: 10,
  smallBytes: 16 * MIB,
  smallestPartBytes: 8 * MIB,
  largestPartBytes: 64 * MIB,
  bufferedPartBytes: 16 * MIB,
  recordFromBytes: 2048 * MIB,
  measureMs: 2_000,
};

/** What Lambda's network gives at every memory size: about 600 Mbit/s. */
export const LAMBDA_BYTES_PER_SECOND = 70 * MIB;
