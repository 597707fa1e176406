import * as z from 'zod';
import { ERRORS, type ErrorName } from '../errors.ts';
import type { BatchStore } from '../storage/batch-store.ts';

const stopSchema = z.object({
  /** Name of the error for which it was stopped. */
  reason: z.enum(Object.keys(ERRORS) as [ErrorName, ...ErrorName[]]),
  /** What happened, in a sentence. */
  sentence: z.string(),
  at: z.iso.datetime(),
});
export type Stop = z.infer<typeof stopSchema>;

/** What a person may put there: anything. */
const BY_HAND: Stop = { reason: 'UpdateStopped', sentence: 'It was stopped by hand.', at: '1970-01-01T00:00:00Z' };

/** The flag that all children of a batch share, and a person may set: while it is there, nothing is sent. */
export function createStopFlag(store: Pick<BatchStore, 'putOnce' | 'read'>, key: string) {
  let seen: Stop | undefined;
  return {
    read: async (): Promise<Stop | undefined> => {
      if (seen) return seen;
      const object = await store.read(key);
      seen = object && parseStop(object.text);
      return seen;
    },
    /** The first that raises it says why. */
    raise: async (stop: Stop): Promise<void> => {
      await store.putOnce(key, JSON.stringify(stop));
    },
  };
}

export type StopFlag = ReturnType<typeof createStopFlag>;

function parseStop(text: string): Stop {
  try {
    return stopSchema.parse(JSON.parse(text));
  } catch {
    return BY_HAND;
  }
}
