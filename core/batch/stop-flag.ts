import * as z from 'zod';
import { ERRORS, type ErrorName } from '../errors.ts';
import { parseJson } from '../json.ts';
import type { BatchStore } from './batch-store.ts';

const stopSchema = z.object({
  /** Name of the error for which it was stopped. */
  reason: z.enum(Object.keys(ERRORS) as [ErrorName, ...ErrorName[]]),
  /** What happened, in a sentence. */
  sentence: z.string(),
  at: z.iso.datetime(),
});
export type Stop = z.infer<typeof stopSchema>;

/** A person may put anything there: the time is that of the object. */
function byHand(at = new Date()): Stop {
  return { reason: 'UpdateStopped', sentence: 'It was stopped by hand.', at: at.toISOString() };
}

/** The flag that all children of a batch share, and a person may set: while it is there, nothing is sent. Read it before each line. */
export function createStopFlag(store: Pick<BatchStore, 'putOnce' | 'read'>, key: string) {
  let seen: Stop | undefined;
  return {
    /** Whether it was seen: nothing takes it back. */
    seen: () => seen !== undefined,
    read: async (): Promise<Stop | undefined> => {
      const object = seen ? undefined : await store.read(key);
      if (object) seen = parseJson(stopSchema, object.text) ?? byHand(object.at);
      return seen;
    },
    /** The first that raises it gives the reason. */
    raise: async (stop: Stop): Promise<void> => {
      await store.putOnce(key, JSON.stringify(stop));
    },
  };
}

export type StopFlag = ReturnType<typeof createStopFlag>;
