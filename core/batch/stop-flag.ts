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

/** What a person may put there: anything. */
const BY_HAND: Stop = { reason: 'UpdateStopped', sentence: 'It was stopped by hand.', at: '1970-01-01T00:00:00Z' };

/** How long before a line the reading of the flag may have begun that counts for it. */
export const FRESH_SECONDS = 0.1;

/**
 * The flag that all children of a batch share, and a person may set: while it is there, nothing is sent. `read` before each
 * line; `readAhead` lets the reading for the next line go on beside something else.
 */
export function createStopFlag(store: Pick<BatchStore, 'putOnce' | 'read'>, key: string, now: () => Date) {
  let seen: Stop | undefined;
  let ahead: { begun: number; answer: Promise<Stop | undefined> } | undefined;
  const ask = async () => {
    const object = await store.read(key);
    return object && (parseJson(stopSchema, object.text) ?? BY_HAND);
  };
  return {
    /** Whether it was seen: it stays. */
    seen: () => seen !== undefined,
    readAhead: (): void => {
      ahead = { begun: now().getTime(), answer: ask() };
      // Whoever reads gets the failure; nobody may.
      ahead.answer.catch(() => undefined);
    },
    read: async (): Promise<Stop | undefined> => {
      const fresh = ahead && now().getTime() - ahead.begun <= FRESH_SECONDS * 1000;
      const answer = fresh ? ahead?.answer : undefined;
      ahead = undefined;
      seen ??= await (answer ?? ask());
      return seen;
    },
    /** The first that raises it says why. */
    raise: async (stop: Stop): Promise<void> => {
      await store.putOnce(key, JSON.stringify(stop));
      // What was read before does not count any more.
      ahead = undefined;
    },
  };
}

export type StopFlag = ReturnType<typeof createStopFlag>;
