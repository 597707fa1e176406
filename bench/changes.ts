import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { FEED_DISK_MB } from '../core/changes/feeds.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { differencesOf } from './changes/differences.ts';
import { withPeakOfDisk } from './changes/disk.ts';
import type { FeedCost, TwoNights } from './changes/feed-child.ts';
import { writeNextNight, writeNight } from './changes/nights.ts';
import { PRICE } from './cost/prices.ts';
import { inChild } from './support/children.ts';
import { benchmark, type Found, keepToOneCore } from './support/kit.ts';
import { atMost, exactly, type Target } from './support/targets.ts';
import { costOfTable, type TableCost } from './tables/files.ts';

/**
 * `npm run bench:changes`: the feed between the tables of two files of up to 1 GB, in a fresh process on one core: memory, disk, and CPU
 * beside that of writing the table of the second file.
 */

/** The default of `tableMemoryMB`, with which a function has a whole core. */
const MEMORY_MB = WHOLE_CORE_MB;
/** CPU for the largest file: 1 GB against 1 GB. */
const MOST_SECONDS = 20;
/** A file of ten times the size: ten times the CPU, and no more memory. */
const MOST_GROWTH = 1.25;
const MB = 1024 * 1024;

interface Measured {
  bytes: number;
  table: TableCost;
  feed: FeedCost;
  disk: number;
  differences: number;
}

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const sizes = quick ? { small: 4e6 } : { small: 10e6, medium: 100e6, large: 1000e6 };
  let smaller: Measured | undefined;
  for (const [id, bytes] of Object.entries(sizes)) {
    await experiment([id], `${bytes / 1e6} MB against ${bytes / 1e6} MB`, async () => {
      const measured = await measure(join(dir, id), bytes);
      const found = { runs: [runOf(measured)], targets: targetsOf(id, measured, smaller) };
      smaller = measured;
      return found;
    });
  }
});

async function measure(dir: string, bytes: number): Promise<Measured> {
  const disk = join(dir, 'disk');
  mkdirSync(disk, { recursive: true });
  const nights = { before: join(disk, 'before'), after: join(disk, 'after'), changes: join(disk, 'changes.parquet') };
  const file = join(dir, 'file.csv');
  await costOfTable({ ...writeNight(file, bytes), table: nights.before });
  const table = await costOfTable({ ...writeNextNight(file, bytes), table: nights.after });
  rmSync(file);
  const made = await withPeakOfDisk(disk, () => inFunction<FeedCost>('feed-child.ts', nights, disk));
  const differences = await differencesOf(nights);
  rmSync(dir, { recursive: true });
  return { bytes, table, feed: made.result, disk: made.peak, differences };
}

/** In a process with the options of a function of this memory. */
function inFunction<T>(file: string, nights: TwoNights, disk: string): Promise<T> {
  const environment = { ...process.env, TMPDIR: disk };
  return inChild<T>(join(import.meta.dirname, 'changes', file), nights, environment);
}

function runOf({ bytes, table, feed, disk }: Measured): Found['runs'][number] {
  const { changes } = feed.feed;
  const diskPrice = ((FEED_DISK_MB - 512) / 1024) * PRICE.diskGigabyteSecond;
  return {
    'each file': `${bytes / 1e6} MB`,
    rows: String(feed.feed.rows),
    'its table': `${(table.bytes / 1e6).toFixed(0)} MB`,
    '+ - ~': `${changes.insert} ${changes.delete} ${changes.update_postimage}`,
    'feed MB': (feed.bytes / 1e6).toFixed(1),
    'CPU s': feed.cpuSeconds.toFixed(1),
    'of the table': table.cpuSeconds.toFixed(1),
    'MB of memory': (feed.maxRss / MB).toFixed(0),
    'MB of disk': (disk / MB).toFixed(0),
    'US dollars': (feed.cpuSeconds * ((WHOLE_CORE_MB / 1024) * PRICE.gbSecond + diskPrice)).toFixed(5),
    'of it disk': (feed.cpuSeconds * diskPrice).toFixed(5),
  };
}

function targetsOf(id: string, { bytes, feed, disk, differences }: Measured, smaller?: Measured): Target[] {
  const growth = smaller && feed.cpuSeconds / bytes / (smaller.feed.cpuSeconds / smaller.bytes);
  return [
    exactly(`changes-${id}-differences`, 0, differences),
    atMost(`changes-${id}-memory-mb`, MEMORY_MB, feed.maxRss / MB),
    atMost(`changes-${id}-disk-mb`, FEED_DISK_MB, disk / MB),
    atMost(`changes-${id}-seconds`, MOST_SECONDS, feed.cpuSeconds),
    ...(growth === undefined ? [] : [atMost(`changes-${id}-cpu-growth`, MOST_GROWTH, growth)]),
  ];
}
