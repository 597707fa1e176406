import type { Entity } from '../../config/entities.ts';
import type { OrderedRun } from '../../export/pointer.ts';
import { TableError } from '../../table/table-error.ts';
import type { Likeness, WrittenFeed } from '../write-feed.ts';
import type { FeedRecord } from './feed-record.ts';
import type { FeedEnd, FeedHead, FeedPair, StandingHead } from './head.ts';

/** The copy of a table is missing, or has been replaced. */
export class BaseGone extends TableError {}

/** The newest published run, if its table exists. */
export interface NewestTable extends OrderedRun {
  table: { key: string; etag: string; bytes: number; settings: string };
}

/** The metadata of a stored feed. */
export interface StandingFeed
  extends Pick<FeedRecord, 'inserts' | 'deletes' | 'updates' | 'unmatched' | 'rows' | 'keys' | 'gone'> {
  /** Digest of the pair that the feed was made from. */
  pair: string;
  etag: string;
  bytes: number;
}

/**
 * The feeds of an entity. Every method throws RunError `StorageConflict`, `StorageDenied` or `StorageUnavailable`.
 * Methods that read tables throw TableError as well.
 */
export interface FeedStore {
  entity: Entity;
  now(): Date;
  readHead(): Promise<StandingHead>;
  /** `false` if another function was faster. */
  writeHead(standing: StandingHead, next: FeedHead): Promise<boolean>;
  /** `undefined` if the newest run is partial or has no table. */
  newest(): Promise<NewestTable | undefined>;
  /**
   * Copies the table to the base of its run. A copy of an older table of the run is replaced: no feed has ended at it
   * yet.
   * @returns the ETag of the copy; `undefined` if the table has changed
   */
  copyBase(newest: NewestTable): Promise<string | undefined>;
  /** How far the copies of two tables can be compared. @throws BaseGone */
  likeness(from: FeedEnd, to: FeedEnd): Promise<Likeness>;
  /** The stored feed that ends at a table. */
  standingFeed(to: FeedEnd): Promise<StandingFeed | undefined>;
  /** Compares the copies of two tables. Stores nothing. @throws BaseGone */
  compare(pair: FeedPair): Promise<WrittenFeed>;
  /** Stores the result of the last comparison, once. It replaces the feed of another pair. */
  putFeed(pair: FeedPair, feed: WrittenFeed): Promise<void>;
  /** Stores the record of a feed. Storing the same record again succeeds. */
  putRecord(record: FeedRecord): Promise<void>;
}
