import * as z from 'zod';
import { eachOf } from '../each-of.ts';
import { ERRORS, type ErrorName, RunError } from '../errors.ts';
import { parseJson, strictText } from '../json.ts';
import type { Bucket } from '../storage/bucket.ts';
import type { UpdateRecord } from '../updates/read-updates.ts';
import { CLAIM, keysOf } from './batch-store.ts';

/** Every outcome of a line, and what it means for the customer. */
export const OUTCOMES = {
  APPLIED: 'the CRM confirmed the change',
  REJECTED:
    'the CRM refused the content of the change (400, 404: no such customer, 409, 412, 422, a 200 with only an error): correct the line',
  FAILED:
    'the CRM did not take the change (401, 403, a 404 with a web page; 423, 429 and busy after the retries): send it again',
  UNKNOWN:
    'sent, and no answer confirms or rules out the change (no answer at all, 408, 425, a redirect, a 5xx, a 2xx that is not a JSON object or contradicts the change): send it again',
  NOT_SENT: 'never sent',
} as const;
export type LineOutcome = keyof typeof OUTCOMES;

const outcomeSchema = z.enum(Object.keys(OUTCOMES) as [LineOutcome, ...LineOutcome[]]);
const outcomeMeanings = Object.entries(OUTCOMES).map(([outcome, meaning]) => `${outcome}: ${meaning}.`);

const errorNameSchema = z.enum(Object.keys(ERRORS) as [ErrorName, ...ErrorName[]]).nullable();

/** One line of `result.jsonl`: the outcome of one input line. It has the id and no other data of the customer. */
export const resultLineSchema = z.strictObject({
  line: z.int().min(1).describe('Line of the input.'),
  id: z.guid().describe('The customer.'),
  outcome: outcomeSchema.describe(outcomeMeanings.join(' ')),
  error: errorNameSchema.describe('Name of the error; null when applied.'),
  status: z.int().min(100).max(999).nullable().describe('HTTP status of the last answer; null without one.'),
  attempts: z.int().min(0).describe('How often the line was sent.'),
  at: z.iso
    .datetime()
    .nullable()
    .describe('When the outcome was known; null if the line was not sent, or if the function died.'),
  fields: z
    .array(z.string())
    .optional()
    .describe('Fields that the CRM named when it refused the line (422); never values.'),
});
export type ResultLine = z.infer<typeof resultLineSchema>;

export function resultLineText(result: ResultLine): string {
  return `${JSON.stringify(result)}\n`;
}

/** A name that is a part of keys: letters, digits and hyphens, at most 60. */
export const batchNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,60}$/)
  .describe('Name of the batch.');

const countsSchema = z.record(outcomeSchema, z.int().min(0)).describe('Lines by outcome; together all records.');
export type Counts = z.infer<typeof countsSchema>;

/** `_manifest.json` of a batch, written once after `result.jsonl`. Without it, the result is not complete. */
export const batchManifestSchema = z.object({
  schemaVersion: z
    .int()
    .min(1)
    .describe('Currently 1. Fields may be added: read those that you need, whatever the version, and ignore the rest.'),
  batch: batchNameSchema,
  execution: z.string().describe('Name of the Step Functions execution.'),
  input: z.object({
    key: z.string(),
    bytes: z.int().min(1),
    crc32: z.string().describe('CRC-32 of all bytes: base64 of four bytes, big-endian, as Amazon S3 writes it.'),
    lines: z.int().min(1).describe('Number of lines, including lines without a record.'),
    records: z.int().min(1),
  }),
  result: z.object({ key: z.string(), bytes: z.int().min(1), crc32: z.string() }),
  chunks: z.int().min(1),
  counts: countsSchema,
  stoppedBy: z
    .object({ reason: z.string(), at: z.iso.datetime() })
    .nullable()
    .describe('Why the batch stopped before its last line; null if it did not stop.'),
  maxRate: z.number().positive().nullable().describe('Changes per second that were allowed; null without a limit.'),
  stopAfterFailures: z.int().min(1).nullable(),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().describe('When the last outcome was known, from the state of the batch.'),
  keptUntil: z.iso.date().describe('From this day on, the lifecycle rules of the bucket may remove the batch.'),
  softwareVersion: z.string().describe('Release that started the batch.'),
  warnings: z.array(z.string()).describe('Warnings for readers; empty if there are none.'),
});
export type BatchManifest = z.infer<typeof batchManifestSchema>;

const writtenSchema = batchManifestSchema.extend({ schemaVersion: z.literal(1) });

/** The text of a manifest. Equal manifests have equal bytes. */
export function batchManifestText(manifest: BatchManifest): string {
  return strictText(writtenSchema, manifest);
}

/** The number of lines with a known outcome. */
export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export function noCounts(): Counts {
  return { APPLIED: 0, REJECTED: 0, FAILED: 0, UNKNOWN: 0, NOT_SENT: 0 };
}

/** The most results in one object. If a function dies, at most this many lines are in doubt. */
export const RESULTS_PER_PART = 100;

const triesSchema = z.object({
  attempts: z.int(),
  /** An attempt may have made the change, and its answer neither confirms nor excludes it. */
  lost: z.boolean(),
  /** HTTP status of the last answer. */
  status: z.int().nullable(),
  /** The error of the last answer; null for a refused token, and in parts of an earlier release. */
  error: errorNameSchema.default(null),
});
/** The attempts of a line that has no result yet. */
export type Tries = z.infer<typeof triesSchema>;
export const NEVER_TRIED: Tries = { attempts: 0, lost: false, status: null, error: null };
/** A line whose function died, so that it may have been sent. */
export const IN_DOUBT: Tries = { attempts: 0, lost: true, status: null, error: null };

/**
 * The result of a line that will not be sent again.
 * @param reason why it is not sent
 * @param at when the outcome was known, if that was before the summary of the batch
 */
export function unfinishedLine(
  { line, record }: UpdateRecord,
  { attempts, lost, status, error }: Tries,
  reason: ErrorName,
  at: string | null,
): ResultLine {
  const of = { line, id: record.id, attempts };
  if (lost) return { ...of, outcome: 'UNKNOWN', error: error ?? reason, status, at };
  if (attempts === 0) return { ...of, outcome: 'NOT_SENT', error: reason, status: null, at: null };
  // The line was refused, and was waiting for a retry or for another token.
  const unnamed = status === 401 || status === 403 ? 'AuthRefused' : 'CrmUnavailable';
  return { ...of, outcome: 'FAILED', error: error ?? unnamed, status, at };
}

const doubtSchema = z.object({
  firstLine: z.int(),
  records: z.int(),
  /** The attempts of the first record; null if its function died. The other records may have been sent. */
  tries: triesSchema.nullable().default(null),
});
/** Consecutive records without a result that may have been sent. */
export type Doubt = z.infer<typeof doubtSchema>;

/**
 * The attempts of the next record without a result: `NEVER_TRIED` if it was not sent, `IN_DOUBT` if its function died.
 * The function also removes this record from `doubt`.
 */
export function triesOf(line: number, doubt: Doubt | undefined): Readonly<Tries> {
  if (!doubt || line < doubt.firstLine || doubt.records === 0) return NEVER_TRIED;
  doubt.records -= 1;
  return (line === doubt.firstLine && doubt.tries) || IN_DOUBT;
}

/** The text of a part: its results, and what is uncertain about lines without a result (`doubt`). */
export function partText(results: ResultLine[], doubt: Doubt | undefined): string {
  return results.map(resultLineText).join('') + (doubt ? `${JSON.stringify({ doubt })}\n` : '');
}

/** Reads a part or a claim. @throws RunError `StorageConflict` for any other text; the message quotes no content */
export function parsePart(text: string): { results: ResultLine[]; doubt: Doubt | undefined } {
  const lines = text.split('\n').filter(Boolean);
  const last = lines.at(-1) ?? '';
  const doubt = parseJson(z.object({ doubt: doubtSchema }), last)?.doubt;
  const results = (doubt ? lines.slice(0, -1) : lines).map((line) => parseJson(resultLineSchema, line));
  if (results.every((result) => result !== undefined)) return { results, doubt };
  throw new RunError('StorageConflict', 'An object with the results of a chunk has a line that is not a result.');
}

/**
 * Counts the parts that a function may still be sending. These were claimed after `since`, and either have no results
 * or were closed by another function, which stores a doubt without tries (`chunk-results.ts`).
 */
export async function openClaims(store: Pick<Bucket, 'list' | 'read'>, batch: string, since: Date): Promise<number> {
  const objects = await store.list(keysOf(batch).results);
  const claims = objects.filter(({ key, at }) => key.endsWith(CLAIM) && (at === undefined || at >= since));
  const isOpen = await eachOf(claims, async ({ key }) => {
    const part = await store.read(key.replace(CLAIM, '.jsonl'));
    if (!part) return true;
    const { results, doubt } = parsePart(part.text);
    return results.length === 0 && doubt?.tries === null;
  });
  return isOpen.filter(Boolean).length;
}
