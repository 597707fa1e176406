import * as z from 'zod/mini';
import { entitySchema } from '../config/entities.ts';

/** `full`: all records. `window`: the configured plan depends on the date. `partial`: another plan than the configured. */
export const kindSchema = z.enum(['full', 'window', 'partial']);

const changeSchema = z.object({ name: z.string(), from: z.string(), to: z.string() });
const sinceSchema = z.object({ date: z.iso.date(), execution: z.string() });
export type Since = z.infer<typeof sinceSchema>;

/** How the columns that the CRM lists differ from those of an earlier export; a part of the state and of the manifest. */
export const driftSchema = z.object({
  since: sinceSchema.check(z.describe('The published export that it was compared with.')),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  retyped: z.array(changeSchema),
  relabelled: z.array(changeSchema),
  unnamed: z
    .int()
    .check(z.describe('Changes that are not named above: too many, or of columns whose names are not plain.')),
});
export type Drift = z.infer<typeof driftSchema>;

/**
 * The state that passes between the steps. It ends in the execution history, which anyone with read access sees for 90
 * days: keys, ids and counts only. Loose, so that what a later release wrote passes unchanged. Defaults are what a run begins
 * with.
 */

/** The body of stage 1; its other keys depend on the configuration. */
export const exportRequestSchema = z.looseObject({ columns: z.array(z.string()) });
export type ExportRequest = z.infer<typeof exportRequestSchema>;

/** Fields of the entity, by which a file is recognised. */
const listedSchema = z.looseObject({
  /** Names that were not requested. */
  others: z.array(z.string()),
  /** Labels of the columns, then of the others. No list: too many to be carried. */
  labels: z.nullable(z.array(z.nullable(z.string()))),
  /** Types of the columns, then of the others. No list: too many to be carried. */
  types: z.nullable(z.array(z.nullable(z.string()))),
  /** No column is missing in it. */
  complete: z.boolean(),
});
export type Listed = z.infer<typeof listedSchema>;

const runSchema = z.looseObject({
  schemaVersion: z.literal(1),
  entity: entitySchema,
  exportId: z.guid(),
  /** The logical date, YYYY-MM-DD. */
  date: z.iso.date(),
  /** Where the run's objects lie in the bucket; ends in a slash. */
  prefix: z.string(),
  deadline: z.iso.datetime(),
  firstWaitSeconds: z.int(),
  largestWaitSeconds: z.int(),
  /** The date until which the lifecycle rules keep the run's objects. */
  keptUntil: z.iso.date(),
  request: exportRequestSchema,
  listed: listedSchema,
  /** SHA-256 of entity and request, hexadecimal: equal requests have equal fingerprints. */
  fingerprint: z.string(),
  /** SHA-256 of the plan as it is configured (`core/export/plan.ts`). */
  plan: z.string(),
  kind: kindSchema,
  /** Keys of the input by which its plan differs from the configured one. */
  differs: z.array(z.string()),
  /** Whether readers get the file. */
  publish: z.boolean(),
  /** Columns that must not be in the file, with their labels and the entries of the configuration that mean them. */
  excepted: z.array(z.looseObject({ name: z.string(), label: z.nullable(z.string()), entry: z.string() })),
  /** How the columns differ from those of the last published export. */
  drift: z.nullable(driftSchema),
  /** What CreateExport has to warn of. */
  remarks: z.array(z.string()),
  /** Changed columns that it warns of. */
  schemaChanges: z.int(),
  /** When the CRM had accepted the export. */
  createdAt: z.iso.datetime(),
  /** The failed run whose export this is; `null`: it was requested by this one. */
  adopted: z.nullable(z.string()),
  softwareVersion: z.string(),
});
export type Run = z.infer<typeof runSchema>;

const storedFileSchema = z.looseObject({
  key: z.string(),
  bytes: z.int(),
  /** CRC-32 of all bytes, base64 of 4 bytes big-endian, as S3 writes it (`ChecksumCRC32`). */
  crc32: z.string(),
  contentType: z.string(),
  storedAt: z.iso.datetime(),
  /** Restarts: the file had changed at its origin, or its upload was gone. */
  restarts: z.int(),
  /** The closing of the connection alone marked the end of the file. */
  undeclaredEnd: z.boolean(),
});
export type StoredFile = z.infer<typeof storedFileSchema>;

/** Progress of DownloadFile; the parts themselves are in the bucket. */
const downloadProgressSchema = z.looseObject({
  /** The upload that is open (`transfer/base/types.ts`). */
  upload: z.nullable(
    z.looseObject({
      uploadId: z.string(),
      key: z.string(),
      contentType: z.string(),
      etag: z.nullable(z.string()),
      size: z.nullable(z.int()),
      partBytes: z.int(),
    }),
  ),
  /** Invocations whose time was up. */
  invocations: z.int(),
  /** Requested addresses. */
  links: z.int(),
  restarts: z.int(),
  /** Since when the CRM has answered without a break that it does not know the export. */
  unknownSince: z.nullable(z.iso.datetime()),
  /** Time spent on transferring, waits aside. */
  milliseconds: z.int(),
  /** CPU time of the invocations. */
  cpuMilliseconds: z.int(),
});
export type DownloadProgress = z.infer<typeof downloadProgressSchema>;
export const NOTHING_MOVED: DownloadProgress = {
  ...{ upload: null, invocations: 0, links: 0, restarts: 0 },
  ...{ unknownSince: null, milliseconds: 0, cpuMilliseconds: 0 },
};

/** Transient errors in a row: name and HTTP status of the last. */
const troubleSchema = z.looseObject({
  error: z.string(),
  /** The status of a refusal; `null` where there was no answer, or a good one that cannot be read. */
  status: z.nullable(z.int()),
  count: z.int(),
  /** When the run gives up. */
  deadline: z.iso.datetime(),
});
export type Trouble = z.infer<typeof troubleSchema>;

const releasedSchema = z.looseObject({
  run: z.string(),
  date: z.iso.date(),
  kind: kindSchema,
  latest: z.boolean(),
});

export const tableSchema = z.looseObject({
  /** The run whose file it is made of. */
  run: z.string(),
  date: z.iso.date(),
  key: z.string(),
  rows: z.int(),
  bytes: z.int(),
  /** What a reader should know, in sentences. */
  warnings: z.array(z.string()),
});

const feedSchema = z.looseObject({
  /** The run that the feed ends at. */
  run: z.string(),
  date: z.iso.date(),
  key: z.string(),
  sequence: z.int(),
  kind: z.enum(['changes', 'snapshot']),
  inserts: z.int(),
  deletes: z.int(),
  updates: z.int(),
});

export const runStateSchema = z.looseObject({
  machineVersion: z.int(),
  /** The input of the execution, whatever a person or a rule gave. */
  input: z.unknown(),
  execution: z.string(),
  startedAt: z.iso.datetime(),
  /** Status reads that were answered. */
  checks: z._default(z.int(), 0),
  /** Waits so far, of all steps. */
  waits: z._default(z.int(), 0),
  /** The logical date of a run that waits in CreateExport; later `run` has it. */
  date: z._default(z.nullable(z.iso.date()), null),
  /** The execution that a rule had started already for the same start; `null` where this is the first. */
  startedBy: z._default(z.nullable(z.string()), null),
  /** `null` where the last step had none. */
  trouble: z._default(z.nullable(troubleSchema), null),
  /** Create requests that may have worked. */
  unansweredCreates: z._default(z.int(), 0),
  run: z._default(z.nullable(runSchema), null),
  moving: z._default(z.nullable(downloadProgressSchema), null),
  file: z._default(z.nullable(storedFileSchema), null),
  /** Invocations of PublishFile and WriteTable after the deadline that found the bucket unavailable. */
  lateTries: z._default(z.int(), 0),
  manifestKey: z._default(z.nullable(z.string()), null),
  /** Rows of the published file, header aside; null where they are not known exactly. */
  rows: z._default(z.nullable(z.int()), null),
  /** How many warnings stand in the manifest. */
  warningCount: z._default(z.nullable(z.int()), null),
  /** The run that had stored the file, where this one releases a quarantined file. */
  released: z._default(z.nullable(releasedSchema), null),
  /** The table that was written; `null` where none was. */
  table: z._default(z.nullable(tableSchema), null),
  /** The feed of changes that was written; `null` where none was. */
  feed: z._default(z.nullable(feedSchema), null),
  outcome: z._default(z.nullable(z.string()), null),
  waitSeconds: z._default(z.int().check(z.minimum(0)), 0),
  failure: z._default(z.nullable(z.object({ error: z.string(), cause: z.string() })), null),
});
export type RunState = z.infer<typeof runStateSchema>;

export function runOf(state: RunState): Run {
  if (!state.run) throw new Error('the state has no run: CreateExport was skipped');
  return state.run;
}
