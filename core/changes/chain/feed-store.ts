import type { Entity } from '../../config/entities.ts';
import type { OrderedRun } from '../../export/pointer.ts';
import type { FeedRecord } from './feed-record.ts';
import type { FeedEnd, FeedHead, FeedPair, StandingHead } from './head.ts';
import type { Judged } from './mass-deletion.ts';

/** The newest published run, whose table stands. */
export interface NewestTable extends OrderedRun {
  table: { key: string; etag: string; bytes: number };
}

/** What the object at the place of a feed says of itself. */
export interface StandingFeed
  extends Pick<FeedRecord, 'inserts' | 'deletes' | 'updates' | 'unmatched' | 'rows'>,
    FeedCounts {
  /** The digest of its pair. */
  pair: string;
  etag: string;
  bytes: number;
}
type FeedCounts = Pick<FeedRecord, 'keys' | 'gone'>;

/**
 * The feeds of an entity. Every method throws RunError `StorageConflict`, `StorageDenied` or `StorageUnavailable`; those that read
 * bases throw BaseGone as well.
 */
export interface FeedStore {
  entity: Entity;
  now(): Date;
  readHead(): Promise<StandingHead>;
  /** `false` where another has come in between. */
  writeHead(standing: StandingHead, next: FeedHead): Promise<boolean>;
  /** `undefined` where the newest run has no table, or is none that feeds end at. */
  newest(): Promise<NewestTable | undefined>;
  /**
   * Copies the table to the base of its run. A copy of what the table was before gives way: no feed has ended at it yet.
   * @returns its tag; `undefined` where the table has changed
   */
  copyBase(newest: NewestTable): Promise<string | undefined>;
  /** Whether the rows of both tables came to be in the same way, and have the same columns. */
  comparable(from: FeedEnd, to: FeedEnd): Promise<boolean>;
  /** The feed that stands where the one that ends there belongs. */
  standingFeed(to: FeedEnd): Promise<StandingFeed | undefined>;
  /**
   * Compares, and writes the object once; one of another pair is replaced.
   * @param judge sees what was compared before anything is written; what it throws ends the feed
   * @throws FeedError
   */
  makeFeed(pair: FeedPair, judge: (counts: Judged) => void): Promise<void>;
  /** Says beside a feed what it is; the same may be said again. */
  putRecord(record: FeedRecord): Promise<void>;
}

/** The copy of a table is gone, or another one. */
export class BaseGone extends Error {}
