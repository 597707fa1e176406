import * as z from 'zod/mini';
import { entitySchema } from '../entities.ts';
import { RunError } from '../errors.ts';
import { exportRequestSchema } from '../states.ts';
import type { Bucket } from './bucket.ts';

/**
 * What one run left in the bucket, written once after everything was verified: no manifest, no data. Everything in it comes
 * from the state of the run and from the stored object, so that a repeated step writes the same bytes.
 */
export const manifestSchema = z.strictObject({
  schemaVersion: z.literal(1),
  entity: entitySchema,
  date: z.iso.date().check(z.describe('The logical date of the export, in the time zone of the deployment.')),
  execution: z.string().check(z.describe('Name of the Step Functions execution.')),
  startedAt: z.iso.datetime().check(z.describe('When the execution was started.')),
  file: z.strictObject({
    key: z.string(),
    bytes: z.int().check(z.minimum(0)),
    crc32: z
      .string()
      .check(z.describe('CRC-32 of all bytes: base64 of four bytes, big-endian, as Amazon S3 writes it.')),
    contentType: z.string().check(z.describe('As the service declared it.')),
    rows: z
      .nullable(z.int().check(z.minimum(0)))
      .check(z.describe('Records by RFC 4180 without the header; null where the file is not CSV.')),
    header: z
      .nullable(z.array(z.string()))
      .check(z.describe('Names in the first line; null where the file is not CSV.')),
  }),
  export: z.strictObject({
    id: z.guid().check(z.describe('The id that the service gave to the export.')),
    createdAt: z.iso.datetime(),
    storedAt: z.iso.datetime(),
    checks: z.int().check(z.minimum(1), z.describe('How often its status was read.')),
    unansweredCreates: z
      .int()
      .check(z.minimum(0), z.describe('Requests whose answer was lost: the service may hold as many further exports.')),
    // Manifests of earlier releases do not say it.
    restarts: z
      ._default(z.int().check(z.minimum(0)), 0)
      .check(
        z.describe(
          'How often the file was begun anew: it had changed at its origin, or what was stored of it was gone.',
        ),
      ),
  }),
  request: exportRequestSchema.check(z.describe('The request as it was sent; "columns" are the columns asked for.')),
  fingerprint: z.string().check(z.describe('SHA-256 of entity and request: equal requests have equal fingerprints.')),
  keptUntil: z.iso.date().check(z.describe('From this day on the lifecycle rules of the bucket may remove the run.')),
  softwareVersion: z.string().check(z.describe('Release that began the run.')),
  warnings: z.array(z.string()).check(z.describe('What a reader should know; empty when all is well.')),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** The bytes of a manifest: equal manifests have equal bytes. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifestSchema.parse(manifest), undefined, 2)}\n`;
}

/**
 * Writes the manifest once. Finding the same bytes there already is success: the step is being repeated.
 * @throws RunError `StorageConflict` when another manifest stands there.
 */
export async function writeManifest(bucket: Bucket, key: string, manifest: Manifest): Promise<void> {
  const text = manifestText(manifest);
  if (await bucket.putOnce(key, text)) return;
  const standing = await bucket.read(key);
  if (standing?.text === text) return;
  throw new RunError('StorageConflict', `Another manifest stands at ${key} than this run would write.`);
}
