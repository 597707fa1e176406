import * as z from 'zod/mini';
import type { Entity } from '../../config/entities.ts';
import { LAYOUT, layoutVersion, storedAs } from '../../export/layout.ts';
import { strictText } from '../../json.ts';
import { kindSchema } from '../../step/states.ts';
import { type Bucket, writeOver } from '../../storage/bucket.ts';
import { headKey } from '../feed-keys.ts';
import { feedCounts } from './feed-record.ts';

/** A table at which feeds end: its run, the keys that order runs, and the copy of the table. */
const endSchema = z.object({
  run: z.string(),
  date: z.iso.date(),
  startedAt: z.iso.datetime(),
  kind: kindSchema,
  /** ETag of the copy below `base/`. */
  etag: z.string(),
  /** Key columns and ignored columns of the comparison. */
  key: z.array(z.string()),
  ignore: z.array(z.string()),
  /** Digest of the column settings of the table; '' if the table has no digest. */
  settings: z._default(z.string(), ''),
  /** Rows of the table; set after a feed has ended at it. */
  rows: z.optional(z.int()),
});
export type FeedEnd = z.infer<typeof endSchema>;

/** A feed that is being stored. Any function that finds the pair stores its feed: equal pairs give equal bytes. */
const pairSchema = z.object({
  sequence: z.int(),
  kind: z.enum(['changes', 'snapshot']),
  from: z.nullable(endSchema),
  to: endSchema,
  /** The reason that a person gave for the release. */
  released: z.nullable(z.string()),
  counts: z.object(feedCounts),
});
export type FeedPair = z.infer<typeof pairSchema>;

/** Two tables to compare, in the order of the chain. */
export type FeedDraft = Omit<FeedPair, 'kind' | 'counts'>;

/** A mass deletion that stopped the feeds. */
export const stoppedSchema = z.object({
  /** The run whose table lacks the keys of the previous table. */
  run: z.string(),
  date: z.iso.date(),
  /** The unit of the counts: keys, or rows for a snapshot. */
  of: z.enum(['keys', 'rows']),
  keys: z.int(),
  gone: z.int(),
  at: z.iso.datetime(),
});

/** The head of an entity's feeds. Only conditional writes replace it. */
const headSchema = z.object({
  schemaVersion: layoutVersion,
  /** The number of the last feed; 0 before the first feed. */
  sequence: z.int().check(z.minimum(0)),
  /** The table at which the last feed ended. */
  end: z.nullable(endSchema),
  pair: z.nullable(pairSchema),
  /** A mass deletion. No feed is written until a later table lacks fewer keys, or a person releases the deletion. */
  stopped: z.nullable(stoppedSchema),
  /** Why a person lets the next feed through, however many keys are missing; `null` if no person did. */
  release: z.nullable(z.string()),
});
export type FeedHead = z.infer<typeof headSchema>;

/** The head of a chain without feeds. */
export const NO_FEEDS: FeedHead = {
  schemaVersion: LAYOUT,
  ...{ sequence: 0, end: null, pair: null, stopped: null, release: null },
};

/** The head as it is stored, without an `etag` if no head exists. */
export interface StandingHead {
  head: FeedHead;
  etag: string | undefined;
}

/** @throws RunError `StorageConflict` if the object is not a head */
export async function readHead(bucket: Pick<Bucket, 'read'>, entity: Entity): Promise<StandingHead> {
  const object = await bucket.read(headKey(entity));
  if (!object) return { head: NO_FEEDS, etag: undefined };
  const head = storedAs(headSchema, headKey(entity), object.text, 'has no valid position of the feeds');
  return { head, etag: object.etag };
}

/** Replaces the head. @returns `false` if another function has written it since it was read */
export function writeHead(
  bucket: Pick<Bucket, 'putOnce' | 'replace'>,
  entity: Entity,
  { etag }: StandingHead,
  next: FeedHead,
): Promise<boolean> {
  return writeOver(bucket, headKey(entity), strictText(headSchema, { ...next, schemaVersion: LAYOUT }), etag);
}
