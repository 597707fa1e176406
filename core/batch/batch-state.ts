import * as z from 'zod';
import { chunkSchema } from './chunk-index.ts';

/*
 * What passes between the states of the machine CustomerUpdates. It ends in the execution history: keys, counts and numbers of
 * lines only. Objects are loose, so that what a later release wrote passes unchanged.
 */

const batchSchema = z.looseObject({
  schemaVersion: z.literal(1),
  batch: z.string(),
  inputKey: z.string(),
  /** ETag of the bytes that were validated: others are not applied. */
  etag: z.string(),
  bytes: z.int(),
  /** CRC-32 of all bytes, base64 of 4 bytes big-endian. */
  crc32: z.string(),
  lines: z.int(),
  records: z.int(),
  chunks: z.int(),
  chunksKey: z.string(),
  /** Changes per second of the whole batch, and of each of the chunks that are applied at the same time. */
  maxRate: z.number(),
  chunkRate: z.number(),
  stopAfterFailures: z.int().nullable(),
  keptUntil: z.iso.date(),
  softwareVersion: z.string(),
  warnings: z.array(z.string()),
});
export type Batch = z.infer<typeof batchSchema>;

/** Progress of a chunk that needs several invocations. */
const positionSchema = z.looseObject({
  /** The next line to send, and where it begins in the input. */
  line: z.int(),
  byte: z.int(),
  /** Number of the last results object of the chunk, or of its first. */
  part: z.int(),
  /** Invocations so far. */
  rounds: z.int(),
  /** How many of the last lines in a row were answered 403. */
  forbidden: z.int(),
});
export type ChunkPosition = z.infer<typeof positionSchema>;

export const batchStateSchema = z.looseObject({
  machineVersion: z.int(),
  /** The input of the execution, whatever a person or the command gave. */
  input: z.unknown(),
  execution: z.string(),
  startedAt: z.iso.datetime(),
  /** Waits in a row without progress. */
  waits: z.int().default(0),
  batch: batchSchema.nullable().default(null),
  /** The chunk that a child of the map works on; `null` outside of the map. */
  chunk: chunkSchema.nullable().default(null),
  place: positionSchema.nullable().default(null),
  resultKey: z.string().nullable().default(null),
  manifestKey: z.string().nullable().default(null),
  /** Why the map failed. */
  crash: z.object({ Error: z.string() }).nullable().default(null),
  /** Functions that may still have been sending have been waited for. */
  awaited: z.boolean().default(false),
  outcome: z.string().nullable().default(null),
  waitSeconds: z.int().min(0).default(0),
  failure: z.object({ error: z.string(), cause: z.string() }).nullable().default(null),
});
export type BatchState = z.infer<typeof batchStateSchema>;

/** The batch that ValidateBatch began. Only a broken definition could come here without one: a bug. */
export function batchOf({ batch }: BatchState): Batch {
  if (!batch) throw new Error('the state has no batch: ValidateBatch was skipped');
  return batch;
}
