import * as z from 'zod';
import { RunError } from '../errors.ts';
import { parseJson } from '../json.ts';
import type { BatchKeys } from './batch-keys.ts';
import type { Place } from './batch-state.ts';
import type { BatchStore } from './batch-store.ts';
import { DOUBT, parseResults, type ResultLine, resultLineText } from './result-line.ts';

/** Results in one object: a function that dies leaves at most so many lines in doubt. */
export const RESULTS_PER_PART = 100;

const triesSchema = z
  .object({
    attempts: z.int(),
    /** An attempt may have made the change: nothing confirms it, and nothing rules it out. */
    lost: z.boolean(),
    /** HTTP status of the last answer. */
    status: z.int().nullable(),
  })
  // An earlier release did not set it for a 5xx.
  .transform((tries) => ({ ...tries, lost: tries.lost || (tries.status !== null && tries.status >= 500) }));
/** What is known of a line that has no result yet. */
export type Tries = z.infer<typeof triesSchema>;
export const NEVER_TRIED: Tries = { attempts: 0, lost: false, status: null };
/** Its function died: it may have been sent. */
export const IN_DOUBT: Tries = { attempts: 0, lost: true, status: null };

const doubtSchema = z.object({
  firstLine: z.int(),
  records: z.int(),
  /** What is known of the first; null when its function died. The others may have been sent. */
  tries: triesSchema.nullable().default(null),
});
/** Consecutive records without a result that were, or may have been, sent. */
export type Doubt = z.infer<typeof doubtSchema>;

/** The text of a part: results, and what its writer knew of lines without one. */
export function partText(results: ResultLine[], doubt: Doubt | undefined): string {
  return results.map(resultLineText).join('') + (doubt ? `${DOUBT}${JSON.stringify(doubt)}}\n` : '');
}

/** @throws RunError `StorageConflict` */
export function doubtIn(part: string): Doubt | undefined {
  const at = part.lastIndexOf(DOUBT);
  return at === -1 ? undefined : parseDoubt(part.slice(at + DOUBT.length, part.lastIndexOf('}')));
}

/** Reads a claim too. @throws RunError `StorageConflict` */
export function parseDoubt(text: string): Doubt {
  const doubt = parseJson(doubtSchema, text);
  if (doubt) return doubt;
  throw new RunError('StorageConflict', 'An object of a chunk does not say what is in doubt.');
}

/** The doubt in a place: an earlier release stored it there, and its batches may still be under way. */
export function doubtOf(place: Place): Doubt | undefined {
  const { success, data: tries } = triesSchema.safeParse(place);
  if (!success || (tries.attempts === 0 && !tries.lost)) return undefined;
  return { firstLine: place.line, records: 1, tries };
}

/** What the bucket knows of a chunk. */
export interface ChunkParts {
  /** By line. */
  results: Map<number, ResultLine>;
  doubt: Doubt | undefined;
}

export async function readParts(store: BatchStore, keys: BatchKeys, chunk: number): Promise<ChunkParts> {
  const found = await store.list(keys.chunkOf(chunk));
  const texts = new Map(
    await Promise.all(found.map(async ({ key }) => [key, (await store.read(key))?.text ?? ''] as const)),
  );
  const results = new Map<number, ResultLine>();
  let doubt: Doubt | undefined;
  for (const [key, text] of texts) {
    // In the order of the parts, each claim before its results. No line is sent under a claim before the part in front of it is
    // stored: the last object has all that is in doubt.
    doubt = key.endsWith('.begun.json') ? parseDoubt(text) : doubtIn(text);
    if (!key.endsWith('.begun.json')) for (const result of parseResults(text)) results.set(result.line, result);
  }
  return { results, doubt };
}
