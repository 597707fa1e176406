import * as z from 'zod/mini';
import { entitySchema } from '../config/entity-schema.ts';
import { machineState } from './machine-state.ts';

/** `full`: the configured plan. `window`: the configured plan, if it depends on the date. `partial`: another plan. */
export const kindSchema = z.enum(['full', 'window', 'partial']);

const changeSchema = z.object({ name: z.string(), from: z.string(), to: z.string() });
const sinceSchema = z.object({ date: z.iso.date(), execution: z.string() });
export type Since = z.infer<typeof sinceSchema>;

/** Differences between the columns that the CRM lists now and at an earlier export. Part of state and manifest. */
const driftSchema = z.object({
  since: sinceSchema.check(z.describe('The published export that the columns were compared with.')),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  retyped: z.array(changeSchema),
  unnamed: z
    .int()
    .check(
      z.describe(
        'Number of changes that are not named above: the list was full, or the name of the column could not be shown.',
      ),
    ),
});
export type Drift = z.infer<typeof driftSchema>;

/**
 * The state that passes between the steps. The execution history shows it for 90 days to anyone with read access, so
 * it has only keys, ids, counts and the request. Objects are loose: keys of a later release pass unchanged. Defaults are
 * the values at the start.
 */

/** The body of stage 1; its other keys depend on the configuration. */
export const exportRequestSchema = z.looseObject({ columns: z.array(z.string()) });
export type ExportRequest = z.infer<typeof exportRequestSchema>;

const texts = z.nullable(z.array(z.nullable(z.string())));

/** Fields of the entity, to recognise its columns in a file. */
const listedSchema = z.looseObject({
  others: z.array(z.string()).check(z.describe('Names of fields that were not requested.')),
  labels: texts.check(z.describe('Labels of the requested columns, then of the others; null: too large to keep.')),
  types: texts.check(z.describe('Types of the columns, in the same order.')),
  complete: z.boolean().check(z.describe('Whether the list contains every column.')),
});
export type Listed = z.infer<typeof listedSchema>;

/** What a run exports. The manifest of its file contains these fields. */
export const exportedRunSchema = z.looseObject({
  entity: entitySchema,
  date: z.iso.date().check(z.describe('The date of the export, in the time zone of the deployment.')),
  exportId: z.guid().check(z.describe('The id that the CRM gave to the export.')),
  createdAt: z.iso.datetime().check(z.describe('When the CRM accepted the export.')),
  adopted: z
    .nullable(z.string())
    .check(z.describe('The failed run that had requested the export; null: this run requested it.')),
  request: exportRequestSchema.check(z.describe('The request as it was sent; "columns" are the requested columns.')),
  listed: listedSchema.check(z.describe('The other fields that the CRM lists, with labels and types.')),
  fingerprint: z.string().check(z.describe('SHA-256 of entity and request: equal requests have equal fingerprints.')),
  plan: z.string().check(z.describe('SHA-256 of the plan as configured, before dates and columns are resolved.')),
  kind: kindSchema.check(z.describe('full, window or partial, as in the pointer.')),
  differs: z
    .array(z.string())
    .check(z.describe('Keys of the input that make the plan differ from the configured one.')),
  excepted: z
    .array(z.looseObject({ name: z.string(), label: z.nullable(z.string()), entry: z.string() }))
    .check(
      z.describe(
        'Columns that the configuration leaves out, one for each entry, with the field that the entry last named.',
      ),
    ),
  drift: z
    .nullable(driftSchema)
    .check(
      z.describe(
        'How the columns that the CRM lists differ from those of the last published export; null = they were not compared.',
      ),
    ),
  keptUntil: z.iso.date().check(z.describe('From this day on, the lifecycle rules of the bucket may remove the run.')),
  softwareVersion: z.string().check(z.describe('Release that started the run.')),
});

const runSchema = z.extend(exportedRunSchema, {
  schemaVersion: z.literal(1),
  /** Prefix of the run's objects in the bucket; ends in a slash. */
  prefix: z.string(),
  deadline: z.iso.datetime(),
  firstWaitSeconds: z.int(),
  largestWaitSeconds: z.int(),
  /** Whether readers get the file. */
  publish: z.boolean(),
  /** Warnings of CreateExport. */
  remarks: z.array(z.string()),
  /** Number of changed columns in the warnings of CreateExport. */
  schemaChanges: z.int(),
});
export type Run = z.infer<typeof runSchema>;

export const storedFileSchema = z.looseObject({
  key: z.string(),
  bytes: z.int().check(z.minimum(0)),
  crc32: z.string().check(z.describe('CRC-32 of all bytes: base64 of four bytes, big-endian, as Amazon S3 writes it.')),
  contentType: z.string().check(z.describe('Media type that the file server declared.')),
  storedAt: z.iso.datetime(),
  restarts: z
    .int()
    .check(
      z.minimum(0),
      z.describe(
        'How often the download was restarted, because the file had changed at its origin, its ranges were wrong, or a stored part was missing.',
      ),
    ),
  undeclaredEnd: z.boolean().check(z.describe('Only the end of the connection marked the end of the file.')),
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
  /** Invocations that ran out of time. */
  invocations: z.int(),
  /** Download addresses that were requested from the CRM. */
  links: z.int(),
  restarts: z.int(),
  /** Since when every answer of the CRM says that it does not know the export. */
  unknownSince: z.nullable(z.iso.datetime()),
  /** Time spent on transfers, without waits. */
  milliseconds: z.int(),
  /** CPU time of the invocations. */
  cpuMilliseconds: z.int(),
});
export type DownloadProgress = z.infer<typeof downloadProgressSchema>;
export const NOTHING_MOVED: DownloadProgress = {
  ...{ upload: null, invocations: 0, links: 0, restarts: 0 },
  ...{ unknownSince: null, milliseconds: 0, cpuMilliseconds: 0 },
};

/** Consecutive transient errors, with the name and HTTP status of the last. */
const troubleSchema = z.looseObject({
  error: z.string(),
  /** The HTTP status of a refusal; `null` if there was no answer, or a successful one that cannot be read. */
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
  /** The run whose file the table contains. */
  run: z.string(),
  date: z.iso.date(),
  key: z.string(),
  rows: z.int(),
  bytes: z.int(),
  /** Sentences for readers of the table. */
  warnings: z.array(z.string()),
});

const feedSchema = z.looseObject({
  /** The last run in the feed. */
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
  ...machineState,
  /** Status checks that the CRM answered. */
  checks: z._default(z.int(), 0),
  /** The date of a run that waits in CreateExport; afterwards it is in `run`. */
  date: z._default(z.nullable(z.iso.date()), null),
  /** The execution that EventBridge started earlier for the same scheduled start; `null` if there is none. */
  startedBy: z._default(z.nullable(z.string()), null),
  /** `null` if the last step had no transient error. */
  trouble: z._default(z.nullable(troubleSchema), null),
  /** Create requests without an answer, which the CRM may have processed. */
  unansweredCreates: z._default(z.int(), 0),
  run: z._default(z.nullable(runSchema), null),
  moving: z._default(z.nullable(downloadProgressSchema), null),
  file: z._default(z.nullable(storedFileSchema), null),
  /** Invocations of PublishFile and WriteTable after the deadline that found the bucket unavailable. */
  lateTries: z._default(z.int(), 0),
  manifestKey: z._default(z.nullable(z.string()), null),
  /** Rows of the published file without the header; null if they are not known exactly. */
  rows: z._default(z.nullable(z.int()), null),
  /** Number of warnings in the manifest. */
  warningCount: z._default(z.nullable(z.int()), null),
  /** The run that stored the file, if this run releases a quarantined file. */
  released: z._default(z.nullable(releasedSchema), null),
  /** The table that this run wrote; `null` if it wrote none. */
  table: z._default(z.nullable(tableSchema), null),
  /** The feed of changes that this run wrote; `null` if it wrote none. */
  feed: z._default(z.nullable(feedSchema), null),
});
export type RunState = z.infer<typeof runStateSchema>;

export function runOf(state: RunState): Run {
  if (!state.run) throw new Error('the state has no run: CreateExport was skipped');
  return state.run;
}
