import * as z from 'zod/mini';
import { isOfEarlierRelease, LAYOUT, layoutVersion, storedAs } from '../export/layout.ts';
import { strictText } from '../json.ts';
import type { Bucket } from '../storage/bucket.ts';

const fileSchema = z.object({
  run: z.string().check(z.describe('Name of the Step Functions execution.')),
  manifestKey: z.string().check(z.describe('Key of the manifest, which lists all checks of the file.')),
  key: z.string(),
  rows: z.nullable(z.int().check(z.minimum(0))).check(z.describe('Rows of the file, as in the manifest.')),
  bytes: z.int().check(z.minimum(0)),
  crc32: z.string().check(z.describe('CRC-32 of all bytes, as in the manifest.')),
});

const entityOfNightSchema = z.object({
  file: z.nullable(fileSchema).check(z.describe('The file that readers of the date have; null = no file yet.')),
  tableVersion: z
    .nullable(z.int().check(z.minimum(1)))
    .check(
      z.describe('Version of its tables when the night began; null = the night waits for no table of the entity.'),
    ),
  table: z
    .nullable(z.object({ key: z.string(), etag: z.string() }))
    .check(z.describe('The table of this file; null = no table, or not yet.')),
  feed: z
    ._default(z.nullable(z.object({ key: z.string(), etag: z.string() })), null)
    .check(
      z.describe('The feed of changes that ends at this file; null = no feed, or not yet. No night waits for a feed.'),
    ),
  error: z
    .nullable(z.string())
    .check(z.describe('The error of the run that did not store the file or the table; null if no such run is known.')),
});

/** The state of a night, by date. Parsed loosely, like pointers: later releases may add fields. */
export const nightSchema = z.object({
  schemaVersion: layoutVersion,
  date: z.iso.date().check(z.describe('The date of the night.')),
  revision: z
    .int()
    .check(
      z.minimum(1),
      z.describe('Number of the version of this object: a higher number is later. Numbers may be skipped.'),
    ),
  complete: z.boolean().check(z.describe('Whether all files exist, and all tables that the night waits for.')),
  entities: z
    .record(z.string(), entityOfNightSchema)
    .check(z.describe('The entities of the night, as they were configured at the first run of the date.')),
});
export type Night = z.infer<typeof nightSchema>;
export type EntityOfNight = z.infer<typeof entityOfNightSchema>;

const writtenSchema = z.extend(nightSchema, { schemaVersion: z.literal(LAYOUT) });

export const nightKey = (date: string) => `published/nights/date=${date}.json`;
export const completeKey = ({ date, revision }: Pick<Night, 'date' | 'revision'>) =>
  `published/nights/complete/date=${date}/revision=${revision}.json`;

/** Writes a night as JSON, also a night of a later release, which was parsed loosely. */
export const nightText = (night: Night) => strictText(writtenSchema, { ...night, schemaVersion: LAYOUT });

/**
 * Reads the stored night of a date, and the ETag of its object. A night of an earlier release counts as missing.
 * @throws RunError `StorageConflict` if the object is not a night of this software
 */
export async function readNight(
  bucket: Pick<Bucket, 'read'>,
  date: string,
): Promise<{ night: Night | undefined; etag: string | undefined }> {
  const key = nightKey(date);
  const { text, etag } = (await bucket.read(key)) ?? {};
  if (text === undefined || isOfEarlierRelease(text)) return { night: undefined, etag };
  return { night: storedAs(nightSchema, key, text, 'is not a night object of this software'), etag };
}

/** The files and tables that a night still lacks: `leads`, or `leads (table)`. */
export function lackingIn({ entities }: Pick<Night, 'entities'>): string[] {
  return Object.entries(entities).flatMap(([entity, { file, tableVersion, table }]) => {
    if (!file) return [entity];
    return tableVersion !== null && !table ? [`${entity} (table)`] : [];
  });
}
