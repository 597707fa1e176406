import * as z from 'zod';
import { strictText } from '../json.ts';
import { type LineOutcome, OUTCOMES } from './result-line.ts';

/** A name that is a part of keys: letters, digits and hyphens, at most 60. */
export const batchNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,60}$/)
  .describe('Name of the batch.');

const outcomes = Object.keys(OUTCOMES) as [LineOutcome, ...LineOutcome[]];
const countsSchema = z.record(z.enum(outcomes), z.int().min(0)).describe('Lines by outcome; together all records.');
export type Counts = z.infer<typeof countsSchema>;

/** `_manifest.json` of a batch, written once after `result.jsonl`: no manifest, no result. Read loosely, as those of exports. */
export const batchManifestSchema = z.object({
  schemaVersion: z
    .int()
    .min(1)
    .describe('1 so far. Fields may be added: read those that you need, whatever the version, and ignore the rest.'),
  batch: batchNameSchema,
  execution: z.string().describe('Name of the Step Functions execution.'),
  input: z.object({
    key: z.string(),
    bytes: z.int().min(1),
    crc32: z.string().describe('CRC-32 of all bytes: base64 of four bytes, big-endian, as Amazon S3 writes it.'),
    lines: z.int().min(1).describe('Lines, those without a record included.'),
    records: z.int().min(1),
  }),
  result: z.object({ key: z.string(), bytes: z.int().min(1), crc32: z.string() }),
  chunks: z.int().min(1),
  counts: countsSchema,
  stoppedBy: z
    .object({ reason: z.string(), at: z.iso.datetime() })
    .nullable()
    .describe('What stopped the batch before its last line; null when nothing did.'),
  maxRate: z.number().positive().nullable().describe('Changes per second that were allowed; null without a limit.'),
  stopAfterFailures: z.int().min(1).nullable(),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().describe('When the last outcome was known, from the state of the batch.'),
  keptUntil: z.iso.date().describe('From this day on the lifecycle rules of the bucket may remove the batch.'),
  softwareVersion: z.string().describe('Release that began the batch.'),
  warnings: z.array(z.string()).describe('What a reader should know; empty when all is well.'),
});
export type BatchManifest = z.infer<typeof batchManifestSchema>;

const writtenSchema = batchManifestSchema.extend({ schemaVersion: z.literal(1) });

/** The bytes of a manifest: equal manifests have equal bytes. */
export function batchManifestText(manifest: BatchManifest): string {
  return strictText(writtenSchema, manifest);
}

/** Counts that are all 0. */
export function noCounts(): Counts {
  return { APPLIED: 0, REJECTED: 0, FAILED: 0, UNKNOWN: 0, NOT_SENT: 0 };
}
