import type { Entity } from '../../config/entities.ts';
import type { OrderedRun } from '../../export/pointer.ts';
import type { Likeness, WrittenFeed } from '../write-feed.ts';
import type { FeedRecord } from './feed-record.ts';
import type { FeedEnd, FeedHead, FeedPair, StandingHead } from './head.ts';

/** The newest published run, whose table is there. */
export interface NewestTable extends OrderedRun {
  table: { key: string; etag: string; bytes: number; settings: string };
}

/** What the metadata of a stored feed say. */
export interface StandingFeed
  extends Pick<FeedRecord, 'inserts' | 'deletes' | 'updates' | 'unmatched' | 'rows' | 'keys' | 'gone'> {
  /** The digest of its pair. */
  pair: string;
  etag: string;
  bytes: number;
}

/**
 * The feeds of an entity. Every method throws RunError `StorageConflict`, `StorageDenied` or `StorageUnavailable`; those that read tables
 * throw FeedError as well.
 */
export interface FeedStore {
  entity: Entity;
  now(): Date;
  readHead(): Promise<StandingHead>;
  /** `false` if another function was quicker. */
  writeHead(standing: StandingHead, next: FeedHead): Promise<boolean>;
  /** `undefined` if the newest run has no table, or no feed ends at it. */
  newest(): Promise<NewestTable | undefined>;
  /**
   * Copies the table to the base of its run. A copy of what the table was before is replaced: no feed has ended at it yet.
   * @returns the tag of the copy; `undefined` if the table has changed
   */
  copyBase(newest: NewestTable): Promise<string | undefined>;
  /** How the copies of two tables compare. @throws BaseGone */
  likeness(from: FeedEnd, to: FeedEnd): Promise<Likeness>;
  /** The feed that is stored for a table. */
  standingFeed(to: FeedEnd): Promise<StandingFeed | undefined>;
  /** Compares the copies of two tables. Stores nothing. @throws BaseGone */
  compare(pair: FeedPair): Promise<WrittenFeed>;
  /** Stores what was compared last, once. The feed of another pair is replaced. */
  putFeed(pair: FeedPair, feed: WrittenFeed): Promise<void>;
  /** Stores the record of a feed; the same may be stored again. */
  putRecord(record: FeedRecord): Promise<void>;
}
