import * as z from 'zod';
import { ERRORS, type ErrorName } from '../errors.ts';
import { parseJson } from '../json.ts';
import { machineState } from '../step/machine-state.ts';
import { type AnswerOf, type Ended, failedEnd, handlersOf, type Machine, type RunEnd } from '../step/step.ts';
import type { UpdateStepName } from '../step/steps.ts';
import type { Bucket } from '../storage/bucket.ts';

/*
 * The state that passes between the steps of CustomerUpdates. The execution history shows it, so it has only keys,
 * counts and line numbers. Objects are loose: keys that a later release wrote pass unchanged.
 */

const batchSchema = z.looseObject({
  schemaVersion: z.literal(1),
  batch: z.string(),
  inputKey: z.string(),
  /** ETag of the validated input: another version of it is not applied. */
  etag: z.string(),
  bytes: z.int(),
  /** CRC-32 of all bytes, base64 of 4 bytes big-endian. */
  crc32: z.string(),
  lines: z.int(),
  records: z.int(),
  chunks: z.int(),
  chunksKey: z.string(),
  /** Changes per second: for the whole batch, and for each chunk. */
  maxRate: z.number(),
  chunkRate: z.number(),
  stopAfterFailures: z.int().nullable(),
  keptUntil: z.iso.date(),
  softwareVersion: z.string(),
  warnings: z.array(z.string()),
});
export type Batch = z.infer<typeof batchSchema>;

/** The most children of one Distributed Map. The results of more children could exceed 256 KB, the limit for all. */
export const MOST_CHUNKS = 1000;

/** One line of `chunks.jsonl`: the chunk that one child applies, without customer data. */
export const chunkSchema = z.strictObject({
  chunk: z.int().min(1).max(MOST_CHUNKS).describe('Number of the chunk, from 1.'),
  from: z.int().min(0).describe('First byte in input.jsonl.'),
  to: z.int().min(1).describe('First byte after the chunk.'),
  firstLine: z.int().min(1).describe('Number of the line that begins at "from".'),
  lastLine: z.int().min(1).describe('Number of the last line, counting lines without a record.'),
  records: z.int().min(1).describe('Records in the chunk.'),
});
export type Chunk = z.infer<typeof chunkSchema>;

export const batchStateSchema = z.looseObject({
  ...machineState,
  batch: batchSchema.nullable().default(null),
  /** The chunk of this child of the map; `null` outside the map. */
  chunk: chunkSchema.nullable().default(null),
  /** Invocations for the chunk so far that made progress. */
  rounds: z.int().default(0),
  resultKey: z.string().nullable().default(null),
  manifestKey: z.string().nullable().default(null),
  /** The error of the map of chunks; null if it did not fail. */
  crash: z.object({ Error: z.string() }).nullable().default(null),
  /** Whether the batch has waited for functions that may still have been sending. */
  awaited: z.boolean().default(false),
});
export type BatchState = z.infer<typeof batchStateSchema>;

/** The batch from ValidateBatch. If it is missing, the state machine is wrong, which is a bug. */
export function batchOf({ batch }: BatchState): Batch {
  if (!batch) throw new Error('the state has no batch: ValidateBatch was skipped');
  return batch;
}

/** The most consecutive waits without progress: 9 that grow to a minute, then 36 of a minute, 38 minutes in all. */
const MOST_WAITS = 45;
/** The time limit of the functions (`lib/workflow/customer-updates.ts`). */
export const LONGEST_INVOCATION_SECONDS = 900;
/** The longest Retry-After that is honoured. */
export const LONGEST_WAIT_SECONDS = 3600;

const CUSTOMER_UPDATES: Machine<BatchState> = {
  schema: batchStateSchema,
  // A batch may take a day: it has no deadline, and fails after repeated errors without progress.
  pacing: (state, { now }) => ({
    firstWaitSeconds: 2,
    largestWaitSeconds: 60,
    deadline: new Date(now().getTime() + (isLastWait(state) ? 0 : LONGEST_WAIT_SECONDS * 1000)),
  }),
  about: ({ batch, chunk, execution }) => ({ execution, batch: batch?.batch, chunk: chunk?.chunk }),
  inputKept: () => null,
  // The state of a batch contains no `trouble`, because `update-status` counts lines and shows no waits.
  troubleAfter: () => ({}),
  endOf: batchEnd,
};

/** Whether a transient error in this invocation ends the batch. */
export function isLastWait({ waits }: Pick<BatchState, 'waits'>): boolean {
  return waits >= MOST_WAITS;
}

/** A Lambda handler of a step of CustomerUpdates. */
export const asBatchStep = handlersOf<BatchState, UpdateStepName>(CUSTOMER_UPDATES);

/** The answer of a step: one of its outcomes, and the parts of the state that it changes. */
export type BatchAnswer<S extends UpdateStepName> = AnswerOf<BatchState, S>;

/** How a batch ended. The end of a chunk does not count; `apply-chunk.ts` counts a dead grant itself. */
export function batchEnd(answer: Ended & { chunk: object | null }): RunEnd | undefined {
  if (answer.outcome === 'SUMMARIZED') return { outcome: 'APPLIED', measures: { RunsEnded: 1 } };
  return answer.chunk ? undefined : failedEnd(answer);
}

const stopSchema = z.object({
  /** Name of the error that stopped the batch. */
  reason: z.enum(Object.keys(ERRORS) as [ErrorName, ...ErrorName[]]),
  /** The reason of the stop as a sentence. */
  sentence: z.string(),
});
export type Stop = z.infer<typeof stopSchema>;
/** A stop flag, and when it was written. */
export type Stopped = Stop & { at: string };

/** A stop flag from a person may have any content. */
const BY_HAND: Stop = { reason: 'UpdateStopped', sentence: 'A person stopped it.' };

/** The stop flag of a batch, which a person may also set. Read it before each line: if it exists, send nothing. */
export function createStopFlag(store: Pick<Bucket, 'putOnce' | 'read'>, key: string) {
  let stopped: Stopped | undefined;
  return {
    /** Whether a read has found the flag. The flag is never removed. */
    isSet: () => stopped !== undefined,
    read: async (): Promise<Stopped | undefined> => {
      const object = stopped ? undefined : await store.read(key);
      const { text, at = new Date() } = object ?? {};
      if (object) stopped = { ...(parseJson(stopSchema, text) ?? BY_HAND), at: at.toISOString() };
      return stopped;
    },
    /** Sets the flag. The reason of the first caller is kept. */
    raise: async (stop: Stop): Promise<void> => {
      await store.putOnce(key, JSON.stringify(stop));
    },
  };
}

export type StopFlag = ReturnType<typeof createStopFlag>;
