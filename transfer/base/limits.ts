const MIB = 1024 * 1024;

/** How many first bytes are inspected. They show a web page, however small the chunks are. */
export const INSPECTED_BYTES = 1024;

/** Waits and sizes. docs/design/transfer-engine.md gives the reasons. Tests scale them down. */
export const LIMITS = {
  connectMs: 5_000,
  firstByteMs: 30_000,
  /** The longest silence of a connection in the middle of a body. */
  idleMs: 20_000,
  /** An origin is silent if it sends less than `floorBytesPerSecond` for this long while the engine waits for it. */
  floorMs: 30_000,
  floorBytesPerSecond: 16 * 1024,
  /** How long to watch a connection for bytes after the declared end of a whole file. */
  surplusMs: 100,
  /** The longest wait for the response to Complete, which takes minutes for a huge object. */
  completeMs: 300_000,
  /** Failures in a row before a transfer gives up. */
  attempts: 5,
  firstBackoffMs: 200,
  largestBackoffMs: 10_000,
  /** A longer Retry-After ends the transfer, which reports it. */
  longestWaitSeconds: 10,
  /** A file of up to this size is kept in memory and stored in one request; a longer one that comes in one piece, in parts. */
  bufferBytes: 16 * MIB,
  smallestPartBytes: 8 * MIB,
  largestPartBytes: 64 * MIB,
  /**
   * From this size on, `transfer` returns as soon as the upload exists, so that its caller records the upload before
   * hours of work.
   */
  recordFromBytes: 2048 * MIB,
};

export type Limits = typeof LIMITS;
