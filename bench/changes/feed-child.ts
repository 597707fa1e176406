import { openSync, readSync, statSync, writeSync } from 'node:fs';
import { FEED_DISK_MB } from '../../core/changes/feed-disk.ts';
import { type WrittenFeed, writeFeed } from '../../core/changes/write-feed.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf, type ProcessCost } from '../support/process-cost.ts';

/** Two tables, and where what is told of them goes. */
export interface TwoNights {
  before: string;
  after: string;
  changes: string;
}
export interface FeedCost extends ProcessCost {
  feed: WrittenFeed;
}

/** Makes the feed between two tables, and reports what it cost. */

const { before, after, changes } = givenJob<TwoNights>();

function onDisk(path: string) {
  const file = openSync(path, 'r');
  const { size: byteLength } = statSync(path);
  return {
    byteLength,
    slice(from: number, to = byteLength) {
      const bytes = new Uint8Array(to - from);
      readSync(file, bytes, 0, bytes.length, from);
      return bytes.buffer;
    },
  };
}

await whenBegun(async (): Promise<FeedCost> => {
  const feeds: WrittenFeed[] = [];
  const out = openSync(changes, 'w');
  const cost = await costOf(async () => {
    const ends = { from: { run: 'a', date: '2026-11-21' }, to: { run: 'b', date: '2026-11-22' } };
    const place = { sequence: 2, kind: 'changes' as const, ...ends };
    const tables = { before: onDisk(before), after: onDisk(after) };
    const limits = { diskBytes: FEED_DISK_MB * 1024 * 1024, onProgress: () => undefined };
    const input = { key: ['id'], ignore: [], place, softwareVersion: '0.0.0', ...tables, ...limits };
    feeds.push(await writeFeed(input, async (bytes) => void writeSync(out, bytes)));
  });
  return { ...cost, feed: feeds[0] as WrittenFeed };
});
