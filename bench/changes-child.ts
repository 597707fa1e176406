import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type WrittenFeed, writeFeed } from '../core/changes/write-feed.ts';
import { DISK_MB } from '../core/table/engine.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { answer, costOf, jobOfChild, type ProcessCost } from './child.ts';

/** Two tables and the path for the feed between them. */
export interface TwoNights {
  before: string;
  after: string;
  changes: string;
}
export interface FeedCost extends ProcessCost {
  feed: WrittenFeed;
  /** Size of the feed. */
  bytes: number;
}

/** Makes the feed between two tables and reports its cost. */

const { before, after, changes } = jobOfChild<TwoNights>();

const feeds: WrittenFeed[] = [];
const cost = await costOf(async () => {
  const ends = { from: { run: 'a', date: '2026-11-21' }, to: { run: 'b', date: '2026-11-22' } };
  const place = { sequence: 2, ...ends };
  const input = { before, after, feed: changes, key: ['id'], ignore: [], asBefore: true, place };
  const disk = { folder: dirname(changes), diskBytes: DISK_MB * 1024 * 1024 };
  feeds.push(await writeFeed(input, { bufferMB: WHOLE_CORE_MB * 0.6 - 150, ...disk, onProgress: () => undefined }));
});
answer({ ...cost, feed: feeds[0] as WrittenFeed, bytes: statSync(changes).size } satisfies FeedCost);
