import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { fieldSchema } from '../columns/column-changes.ts';
import { leftOutSchema } from '../columns/left-out.ts';
import { entitySchema } from '../config/entities.ts';
import { RunError } from '../errors.ts';
import { contentSchema, dialectSchema, type Facts, isEmptyFile, UNSEEN } from '../gate/facts.ts';
import { gateReportSchema } from '../gate/report.ts';
import { releasedBeforeSchema } from '../gate/subject.ts';
import { parseJson, strictText } from '../json.ts';
import { driftSchema, exportRequestSchema, kindSchema } from '../step/states.ts';
import type { Bucket } from '../storage/bucket.ts';
import { earlierText, isOfEarlierRelease, LAYOUT, layoutVersion } from './layout.ts';

/**
 * The manifest of a file, written once after all checks. It is made only from the state and the stored object, so a
 * repeated step writes the same bytes. Parsed loosely, like pointers.
 */
export const manifestSchema = z.object({
  schemaVersion: layoutVersion,
  entity: entitySchema,
  date: z.iso.date().check(z.describe('The logical date of the export, in the time zone of the deployment.')),
  execution: z.string().check(z.describe('Name of the Step Functions execution.')),
  startedAt: z.iso.datetime().check(z.describe('When the execution was started.')),
  file: z.object({
    key: z.string(),
    bytes: z.int().check(z.minimum(0)),
    crc32: z
      .string()
      .check(z.describe('CRC-32 of all bytes: base64 of four bytes, big-endian, as Amazon S3 writes it.')),
    contentType: z.string().check(z.describe('As the CRM declared it.')),
    format: z
      .nullable(z.string())
      .check(
        z.describe(
          'What the file holds, by its bytes: csv or xlsx; xls, json or archive where it is published unjudged; null where it is empty.',
        ),
      ),
    compression: z.nullable(z.string()).check(z.describe('What the file is packed with: gzip, zip, or null.')),
    dialect: z.nullable(dialectSchema).check(z.describe('How a CSV file is written.')),
    rows: z
      .nullable(z.int().check(z.minimum(0)))
      .check(
        z.describe(
          'Records without the header and those that repeat it; null where programs count differently, or nobody looked.',
        ),
      ),
    header: z
      .nullable(z.array(z.string()))
      .check(
        z.describe('Names of the columns, as the CRM lists them; null where the first record is not made of them.'),
      ),
    content: z.nullable(contentSchema).check(z.describe('What the file holds, in numbers.')),
  }),
  export: z.object({
    id: z.guid().check(z.describe('The id that the CRM gave to the export.')),
    createdAt: z.iso.datetime(),
    adoptedFrom: z
      .nullable(z.string())
      .check(z.describe('The failed execution that had requested the export; null: this one did.')),
    storedAt: z.iso.datetime(),
    checks: z.int().check(z.minimum(1), z.describe('How often its status was read.')),
    unansweredCreates: z
      .int()
      .check(
        z.minimum(0),
        z.describe(
          'Requests that may have made an export, though their answer (lost, unreadable, or an error) does not say so: the CRM may hold as many further exports.',
        ),
      ),
    restarts: z
      .int()
      .check(
        z.minimum(0),
        z.describe(
          'How often the file was restarted: it had changed at its origin, or what was stored of it was gone.',
        ),
      ),
  }),
  request: exportRequestSchema.check(z.describe('The request as it was sent; "columns" are the requested columns.')),
  fingerprint: z.string().check(z.describe('SHA-256 of entity and request: equal requests have equal fingerprints.')),
  state: z
    .enum(['published', 'unpublished', 'quarantined'])
    .check(
      z.describe(
        'What the run did with the file. unpublished: no pointer names it, because its plan is not the configured one. quarantined: a guard stopped it; a person may have released it since, then pointers name it.',
      ),
    ),
  guards: z.nullable(gateReportSchema).check(z.describe('What the file was compared with; null = with nothing.')),
  plan: z.string().check(z.describe('SHA-256 of the plan as it is configured, dates and columns unresolved.')),
  kind: kindSchema.check(z.describe('As in the pointer.')),
  differs: z
    .array(z.string())
    .check(z.describe('Keys of the input by which the plan differs from the configured one.')),
  fields: z
    .nullable(z.array(fieldSchema))
    .check(
      z.describe(
        'All columns that the CRM lists, but for those that the configuration leaves out; null = not known, or too many to be kept.',
      ),
    ),
  drift: z
    .nullable(driftSchema)
    .check(
      z.describe('How these differ from the columns of the last published export; null = they were not compared.'),
    ),
  leftOut: z
    .array(leftOutSchema)
    .check(
      z.describe('Columns that the configuration leaves out, by its entries; an entry keeps the field it last named.'),
    ),
  releasedBefore: z
    .nullable(releasedBeforeSchema)
    .check(z.describe('What a person has released of earlier files of this plan.')),
  unchangedSince: z
    .nullable(z.iso.date())
    .check(z.describe('Since this date the files have had the same size and CRC-32; null = it differs from the last.')),
  keptUntil: z.iso.date().check(z.describe('From this day on the lifecycle rules of the bucket may remove the run.')),
  softwareVersion: z.string().check(z.describe('Release that began the run.')),
  warnings: z.array(z.string()).check(z.describe('What a reader should know; empty when all is well.')),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** A stored manifest. A manifest of the former layout is converted to today's. */
export const storedManifestSchema = z.pipe(z.transform(upgraded), manifestSchema);

/** Converts the former layout: it has a range in place of rows, and fewer facts about content and releases. */
function upgraded(stored: unknown): unknown {
  const former = z.safeParse(formerSchema, stored);
  if (!former.success) return stored;
  if (!former.data.file.content) return { ...former.data, releasedBefore: null };
  const { file } = former.data;
  const { rows = null, headed } = file.content ?? {};
  const counted = rows !== null && rows.least === rows.most ? rows.least : null;
  const doubts = rows !== null && counted === null && headed !== null ? 1 : 0;
  const releasedBefore = null;
  return {
    ...former.data,
    releasedBefore,
    file: { ...file, content: { ...UNSEEN, ...file.content, rows: counted, doubts } },
  };
}

const formerSchema = z.looseObject({
  schemaVersion: z.literal(LAYOUT - 1),
  file: z.looseObject({
    content: z.nullable(
      z.looseObject({
        rows: z.nullable(z.object({ least: z.int(), most: z.int() })),
        headed: z.nullable(z.boolean()),
      }),
    ),
  }),
});

/** The facts about the file in a manifest. */
export function factsOf({ file }: Pick<Manifest, 'file'>): Facts {
  const { bytes, format, compression, dialect, header, content } = file;
  return { bytes, empty: isEmptyFile(file), format, compression, dialect, header, content };
}

const writtenSchema = z.extend(manifestSchema, { schemaVersion: z.literal(LAYOUT) });

/** The keys that are equal in two manifests of one run. */
const meaningSchema = z.object({
  ...z.pick(manifestSchema, { entity: true, date: true, execution: true, startedAt: true }).shape,
  file: z.pick(manifestSchema.shape.file, { key: true, bytes: true, crc32: true }),
});

export function manifestText(manifest: Manifest): string {
  return strictText(writtenSchema, manifest);
}

/**
 * `undefined` if there is no object at the key.
 * @throws RunError `EarlierRelease`; `StorageConflict` if the object is not a manifest
 */
export async function readManifest(bucket: Pick<Bucket, 'read'>, key: string): Promise<Manifest | undefined> {
  const object = await bucket.read(key);
  if (!object) return undefined;
  if (isOfEarlierRelease(object.text)) throw new RunError('EarlierRelease', `${earlierText(key)}.`);
  const manifest = parseJson(storedManifestSchema, object.text);
  if (manifest) return manifest;
  throw new RunError('StorageConflict', `The object at ${key} is no manifest of this software.`);
}

/** The verdict that a repeated step must keep: exports published since might lead to another one. */
const verdictSchema = z.pick(manifestSchema, { state: true, guards: true });
type Verdict = z.infer<typeof verdictSchema>;

/**
 * Writes the manifest once. A stored manifest of the same run and file is a success: the step was repeated.
 * @returns the verdict of the stored manifest
 * @throws RunError `StorageConflict` if the stored manifest is of another run or file
 */
export async function writeManifest(bucket: Bucket, key: string, manifest: Manifest): Promise<Verdict> {
  if (await bucket.putOnce(key, manifestText(manifest))) return manifest;
  const standing = await bucket.read(key);
  const same = isDeepStrictEqual(parseJson(meaningSchema, standing?.text), meaningSchema.parse(manifest));
  const verdict = same && parseJson(verdictSchema, standing?.text);
  if (verdict) return verdict;
  throw new RunError('StorageConflict', `The object at ${key} is another manifest than this run would write.`);
}
