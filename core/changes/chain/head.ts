import * as z from 'zod/mini';
import type { Entity } from '../../config/entities.ts';
import { RunError } from '../../errors.ts';
import { LAYOUT, layoutVersion } from '../../export/layout.ts';
import { parseJson, strictText } from '../../json.ts';
import { kindSchema } from '../../step/states.ts';
import { type Bucket, writeOver } from '../../storage/bucket.ts';
import { headKey } from './feed-keys.ts';

/** A table that feeds end at: the run in the order of runs, and its copy. */
const endSchema = z.object({
  run: z.string(),
  date: z.iso.date(),
  startedAt: z.iso.datetime(),
  kind: kindSchema,
  /** Tag of the copy below `base/`. */
  etag: z.string(),
  /** Columns of the table as they are compared. */
  key: z.array(z.string()),
  ignore: z.array(z.string()),
  /** Digest of the column settings that the table was written under; '' if the table has none. */
  settings: z._default(z.string(), ''),
  /** Of the table; known when a feed has ended at it. */
  rows: z.optional(z.int()),
});
export type FeedEnd = z.infer<typeof endSchema>;

/** A feed that is being stored. Whoever finds it stores it: equal pairs make equal bytes. */
const pairSchema = z.object({
  sequence: z.int(),
  kind: z.enum(['changes', 'snapshot']),
  from: z.nullable(endSchema),
  to: endSchema,
  /** Whether a snapshot is judged by the keys that are gone. Else its rows are counted. */
  byKeys: z.optional(z.boolean()),
  /** Largest share of the keys that may be gone; `null`: as many as are, for a person let it through. */
  maxRemoved: z.nullable(z.number()),
  /** Why a person let it through. */
  released: z.nullable(z.string()),
  /** When a function began to store its feed, the last time. */
  attemptedAt: z.iso.datetime(),
});
export type FeedPair = z.infer<typeof pairSchema>;

/** A mass deletion that was stopped. */
export const stoppedSchema = z.object({
  /** The run whose table lacks the keys. */
  run: z.string(),
  date: z.iso.date(),
  /** What was counted: of a snapshot rows, and how many fewer there are. Earlier releases counted keys alone. */
  of: z._default(z.enum(['keys', 'rows']), 'keys'),
  keys: z.int(),
  gone: z.int(),
  at: z.iso.datetime(),
});

/** Where the feeds of an entity stand; replaced by conditional writes alone. */
const headSchema = z.object({
  schemaVersion: layoutVersion,
  /** Of the last feed that was written; 0: none was. */
  sequence: z.int().check(z.minimum(0)),
  /** The table that it ended at. */
  end: z.nullable(endSchema),
  pair: z.nullable(pairSchema),
  /** A mass deletion: no feed is written from here until a night lacks fewer keys, or a person lets it through. */
  stopped: z.nullable(stoppedSchema),
  /** Why a person lets the next feed from here through, whatever it lacks. */
  release: z.nullable(z.string()),
});
export type FeedHead = z.infer<typeof headSchema>;

const writtenSchema = z.extend(headSchema, { schemaVersion: z.literal(LAYOUT) });

const NO_FEEDS: FeedHead = {
  schemaVersion: LAYOUT,
  ...{ sequence: 0, end: null, pair: null, stopped: null, release: null },
};

/** A head as it was read; no `etag` where there is none. */
export interface StandingHead {
  head: FeedHead;
  etag: string | undefined;
}

/** @throws RunError `StorageConflict` where the object there is no head */
export async function readHead(bucket: Pick<Bucket, 'read'>, entity: Entity): Promise<StandingHead> {
  const object = await bucket.read(headKey(entity));
  if (!object) return { head: NO_FEEDS, etag: undefined };
  const head = parseJson(headSchema, object.text);
  if (head) return { head, etag: object.etag };
  throw new RunError('StorageConflict', `The object at ${headKey(entity)} does not say where the feeds stand.`);
}

/** Replaces what was read. @returns whether nobody came in between */
export function writeHead(
  bucket: Pick<Bucket, 'putOnce' | 'replace'>,
  entity: Entity,
  { etag }: StandingHead,
  next: FeedHead,
): Promise<boolean> {
  const text = strictText(writtenSchema, { ...next, schemaVersion: LAYOUT });
  return writeOver(bucket, headKey(entity), text, etag);
}
