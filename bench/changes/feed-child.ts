import { openSync, readSync, statSync } from 'node:fs';
import { type WrittenFeed, writeFeed } from '../../core/changes/write-feed.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf, type ProcessCost } from '../support/process-cost.ts';

/** Makes the feed between two tables, and reports what it cost. */

interface FeedJob {
  before: string;
  after: string;
}
export interface FeedCost extends ProcessCost {
  feed: WrittenFeed;
}

const { before, after } = givenJob<FeedJob>();

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
  const cost = await costOf(async () => {
    const ends = { from: { run: 'a', date: '2026-11-21' }, to: { run: 'b', date: '2026-11-22' } };
    const place = { sequence: 2, kind: 'changes' as const, ...ends };
    const tables = { before: onDisk(before), after: onDisk(after) };
    const plan = { key: ['id'], ignore: [], place, softwareVersion: '0.0.0', onProgress: () => undefined };
    feeds.push(await writeFeed({ ...tables, ...plan }, async () => undefined));
  });
  return { ...cost, feed: feeds[0] as WrittenFeed };
});
