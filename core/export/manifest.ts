import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { fieldSchema, listedOf, NOT_LISTED } from '../columns/column-changes.ts';
import { RunError } from '../errors.ts';
import { factsSchema } from '../gate/facts.ts';
import { acceptedSchema, gateReportSchema } from '../gate/report.ts';
import { parseJson, strictText } from '../json.ts';
import { exportedRunSchema, exportRequestSchema, storedFileSchema } from '../step/states.ts';
import type { Bucket } from '../storage/bucket.ts';
import { earlierText, isOfEarlierRelease, LAYOUT, layoutVersion, storedAs } from './layout.ts';

/** Facts about a stored file: how it was received, and what it holds. */
const fileFactsSchema = z.object({ ...storedFileSchema.shape, ...factsSchema.shape });

/**
 * The manifest of a file, written once after all checks. It is made only from the state and the stored object, so a
 * repeated step writes the same bytes. Parsed loosely, like pointers.
 */
export const manifestSchema = z.object({
  schemaVersion: layoutVersion,
  execution: z.string().check(z.describe('Name of the Step Functions execution.')),
  startedAt: z.iso.datetime().check(z.describe('When the execution was started.')),
  run: z.object(exportedRunSchema.shape),
  file: fileFactsSchema,
  state: z
    .enum(['published', 'unpublished', 'quarantined'])
    .check(
      z.describe(
        'State of the file. unpublished: no pointer names it, because its plan is not the configured one. quarantined: a check stopped it. A person may have released it since, and then pointers name it.',
      ),
    ),
  guards: z
    .nullable(gateReportSchema)
    .check(
      z.describe(
        'The checks of the file, and the exports that it was compared with; null for an unpublished file that no check stopped.',
      ),
    ),
  releasedBefore: z
    .catch(z.array(acceptedSchema), [])
    .check(z.describe('Findings that a person has accepted in earlier files of this plan.')),
  checks: z.int().check(z.minimum(1), z.describe('How often the run read the status of the export.')),
  unansweredCreates: z
    .int()
    .check(
      z.minimum(0),
      z.describe(
        'Requests that may have made an export although their answer was lost, unreadable or an error. The CRM may hold as many further exports.',
      ),
    ),
  warnings: z.array(z.string()).check(z.describe('Warnings for readers; empty if there are none.')),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** A stored manifest. A manifest of the former layout is converted to today's. */
export const storedManifestSchema = z.pipe(z.transform(upgraded), manifestSchema);

/** Converts the former layout, which has no `run`, and has a range of row counts instead of `doubts`. */
function upgraded(stored: unknown): unknown {
  const { data: former } = z.safeParse(formerSchema, stored);
  if (!former) return stored;
  const { export: made, file, request, fields, leftOut } = former;
  const { rows = null, headed = null } = file.content ?? {};
  const content = file.content && { ...file.content, doubts: rows?.least !== rows?.most && headed !== null ? 1 : 0 };
  const found = { exportId: made.id, adopted: made.adoptedFrom, excepted: leftOut };
  return {
    ...former,
    ...made,
    run: { ...former, ...made, ...found, listed: fields ? listedOf(fields, request) : NOT_LISTED },
    file: { ...file, ...made, undeclaredEnd: false, content },
  };
}

const formerSchema = z.looseObject({
  schemaVersion: z.literal(LAYOUT - 1),
  request: exportRequestSchema,
  fields: z.nullable(z.array(fieldSchema)),
  leftOut: z.unknown(),
  export: z.looseObject({ id: z.unknown(), adoptedFrom: z.unknown() }),
  file: z.looseObject({
    content: z.nullable(
      z.looseObject({
        rows: z.nullable(z.object({ least: z.int(), most: z.int() })),
        headed: z.nullable(z.boolean()),
      }),
    ),
  }),
});

const writtenSchema = z.extend(manifestSchema, { schemaVersion: z.literal(LAYOUT) });

/** The keys that are equal in two manifests of one run. */
const meaningSchema = z.object({
  ...z.pick(manifestSchema, { execution: true, startedAt: true }).shape,
  run: z.pick(manifestSchema.shape.run, { entity: true, date: true }),
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
  return storedAs(storedManifestSchema, key, object.text, 'is not a manifest of this software');
}

/**
 * The verdict that a repeated step must keep. Exports that were published in the meantime could lead to another
 * verdict.
 */
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
  throw new RunError(
    'StorageConflict',
    `The object at ${key} is a different manifest from the one that this run would write.`,
  );
}
