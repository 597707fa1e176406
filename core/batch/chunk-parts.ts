import * as z from 'zod';
import { type ErrorName, RunError } from '../errors.ts';
import { parseJson } from '../json.ts';
import type { UpdateRecord } from '../updates/read-updates.ts';
import { type BatchKeys, CLAIM } from './batch-keys.ts';
import type { BatchStore } from './batch-store.ts';
import { DOUBT, parseResults, type ResultLine, resultLineText } from './result-line.ts';

/** Results in one object: a function that dies leaves at most so many lines in doubt. */
export const RESULTS_PER_PART = 100;

const triesSchema = z.object({
  attempts: z.int(),
  /** An attempt may have made the change: nothing confirms it, and nothing rules it out. */
  lost: z.boolean(),
  /** HTTP status of the last answer. */
  status: z.int().nullable(),
});
/** What is known of a line that has no result yet. */
export type Tries = z.infer<typeof triesSchema>;
export const NEVER_TRIED: Tries = { attempts: 0, lost: false, status: null };
/** A line whose function died: it may have been sent. */
export const IN_DOUBT: Tries = { attempts: 0, lost: true, status: null };

/**
 * The result of a line that is not sent any more.
 * @param reason why
 * @param at when, where the outcome was known before the batch was summarized
 */
export function unfinishedLine(
  { line, record }: UpdateRecord,
  { attempts, lost, status }: Tries,
  reason: ErrorName,
  at: string | null,
): ResultLine {
  const of = { line, id: record.id, attempts };
  if (lost) return { ...of, outcome: 'UNKNOWN', error: reason, status, at };
  if (attempts === 0) return { ...of, outcome: 'NOT_SENT', error: reason, status: null, at: null };
  // The line was refused, and would have been retried.
  const refused = status === 401 || status === 403 ? 'AuthRefused' : 'CrmUnavailable';
  return { ...of, outcome: 'FAILED', error: status === 429 ? 'RateLimited' : refused, status, at };
}

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

/** What the bucket knows of a chunk. */
export interface ChunkParts {
  /** The result of each line that has one. */
  results: Map<number, ResultLine>;
  doubt: Doubt | undefined;
}

export async function readParts(store: BatchStore, keys: BatchKeys, chunk: number): Promise<ChunkParts> {
  const found = await store.list(keys.chunkOf(chunk));
  const parts = await Promise.all(
    found.map(async ({ key }) => ({ isClaim: key.endsWith(CLAIM), text: (await store.read(key))?.text ?? '' })),
  );
  const results = parts.filter(({ isClaim }) => !isClaim).flatMap(({ text }) => parseResults(text));
  // Parts come in order, each claim before its results. No line is sent under a claim before the part in front of it is stored:
  // the last object has all that is in doubt.
  const doubts = parts.map(({ isClaim, text }) => (isClaim ? parseDoubt(text) : doubtIn(text)));
  return { results: new Map(results.map((result) => [result.line, result])), doubt: doubts.at(-1) };
}
