import * as z from 'zod/mini';
import { entitySchema } from '../../config/entity-schema.ts';
import { layoutVersion } from '../../export/layout.ts';

const placeSchema = z.object({
  run: z.string().check(z.describe('Name of the Step Functions execution whose file the table is made of.')),
  date: z.iso.date(),
});

const count = z.int().check(z.minimum(0));

/** The counts from a comparison of two tables. */
export const feedCounts = {
  rows: count.check(z.describe('Rows of the table that the feed ends at.')),
  inserts: count,
  deletes: count,
  updates: count.check(z.describe('Changed rows; each is two rows of the feed, update_preimage and update_postimage.')),
  unmatched: count.check(
    z.describe('Rows of both tables without a key, or with a key that a table repeats: compared as a multiset.'),
  ),
  keys: count.check(z.describe('Keys of the earlier table; each row without a key counts as one.')),
  gone: count.check(z.describe('Keys of the earlier table that this table no longer has.')),
};

/** The record of a feed, stored beside it. Parsed loosely: later releases may add fields. */
export const feedRecordSchema = z.object({
  schemaVersion: layoutVersion,
  entity: entitySchema,
  sequence: z
    .int()
    .check(
      z.minimum(1),
      z.describe('The place in the chain of feeds, from 1; numbers before a snapshot may be missing.'),
    ),
  kind: z
    .enum(['changes', 'snapshot'])
    .check(z.describe('changes: the differences between two tables. snapshot: all rows of the later table.')),
  from: z.nullable(placeSchema).check(z.describe('Where the previous feed ends; null for the first feed.')),
  to: placeSchema.check(z.describe('The table at which this feed ends.')),
  key: z.array(z.string()).check(z.describe('Columns of the table that identify a row.')),
  ignore: z.array(z.string()).check(z.describe('Columns whose changes do not count.')),
  feed: z
    .object({ bytes: count, etag: z.string() })
    .check(z.describe('The object changes.parquet in the same folder.')),
  ...feedCounts,
  settings: z
    ._default(z.string(), '')
    .check(
      z.describe('Digest of the column settings that the table was written under; empty in feeds of earlier releases.'),
    ),
  released: z
    .nullable(z.string())
    .check(z.describe('Why a person let the feed through; null = the feed was not stopped.')),
});
export type FeedRecord = z.infer<typeof feedRecordSchema>;
