import * as z from 'zod/mini';
import { type FeedRecord, feedRecordSchema } from '../../core/changes/chain/feed-record.ts';
import { type FeedHead, stoppedSchema } from '../../core/changes/chain/head.ts';
import { entitySchema } from '../../core/config/entities.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { jsonText } from '../support/print.ts';
import { rowChanges } from './row-changes.ts';

/** What `changes --json` and `history --json` print. */

const value = z.nullable(z.string());
const rowSchema = z
  .record(z.string(), value)
  .check(z.describe('Values by the columns of the table, each as a text that says all of it; null = no value.'));

const changeSchema = z.object({
  change: z.enum(['insert', 'delete', 'update']),
  before: z.nullable(rowSchema),
  after: z.nullable(rowSchema),
});

const feedSchema = z.extend(feedRecordSchema, {
  changes: z
    .array(changeSchema)
    .check(z.describe('All rows of the feed; with --key those that have it. Of a snapshot, every row is an insert.')),
});

export const changesSchema = z.object({
  entity: entitySchema,
  feeds: z.array(feedSchema).check(z.describe('In the order of the chain.')),
  stopped: z.nullable(stoppedSchema).check(z.describe('A mass deletion that was stopped.')),
  release: z.nullable(z.string()).check(z.describe('Why a person lets the next feed through.')),
});

const date = z.nullable(z.iso.date());
const sequence = z.nullable(z.int());

const versionSchema = z.object({
  validFrom: date.check(
    z.describe('The date of the first table with this row; null = before the first feed that is known.'),
  ),
  validTo: date.check(z.describe('The date of the first table without it; null = it is in the newest one.')),
  fromSequence: sequence.check(z.describe('The feed by which it came; null as above.')),
  toSequence: sequence.check(z.describe('The feed by which it went; null as above.')),
  began: z
    .enum(['insert', 'update', 'snapshot', 'before'])
    .check(z.describe('snapshot: a feed of all rows has it. before: the first known feed took it away.')),
  ended: z
    .nullable(z.enum(['update', 'delete', 'snapshot']))
    .check(z.describe('update: the next version took its place. snapshot: a feed of all rows lacks it.')),
  changed: z
    .array(z.object({ column: z.string(), before: value, after: value }))
    .check(z.describe('What differs from the version whose place it took; ignored columns aside.')),
  row: rowSchema,
});
export type Version = z.infer<typeof versionSchema>;

export const historySchema = z.object({
  entity: entitySchema,
  key: z
    .record(z.string(), z.string())
    .check(z.describe('The columns that a row is known by, with the values asked for.')),
  knownFrom: z.iso.date().check(z.describe('Earlier feeds are gone, had another key, or there were none.')),
  knownTo: z.iso.date().check(z.describe('The date that the newest feed ends at.')),
  firstFeed: z.int().check(z.describe('The place in the chain of the first feed that was read.')),
  lastFeed: z.int(),
  versions: z.array(versionSchema),
});
export type History = z.infer<typeof historySchema>;

/** The document of feeds, in pieces: rows are read while they are printed. @throws what reading feeds throws */
export async function* feedsDocument(
  bucket: Bucket,
  { entity, feeds, key }: { entity: string; feeds: FeedRecord[]; key?: string[] | undefined },
  { stopped, release }: Pick<FeedHead, 'stopped' | 'release'>,
): AsyncGenerator<string> {
  yield `{"entity":${jsonText(entity)},"feeds":[`;
  for (const [place, feed] of feeds.entries()) {
    yield `${place > 0 ? ',' : ''}${jsonText(feed).slice(0, -1)},"changes":[`;
    let first = true;
    for await (const change of rowChanges(bucket, feed, key)) {
      yield `${first ? '' : ','}${jsonText(change)}`;
      first = false;
    }
    yield ']}';
  }
  yield `],"stopped":${jsonText(stopped)},"release":${jsonText(release)}}\n`;
}
