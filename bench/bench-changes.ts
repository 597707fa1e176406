import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DISK_MB } from '../core/table/engine.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import type { FeedCost } from './changes-child.ts';
import { inChild } from './child.ts';
import { atMost, benchmark, type Found, keepToOneCore, type Target } from './kit.ts';
import { PRICE } from './prices.ts';
import { costOfTable, FILES, type PublishedFile, type TableCost, writeFile } from './table-files.ts';

/**
 * `npm run bench:changes`: measures the feed between the tables of two files of up to 1 GB, in a fresh process on one
 * core. It reports memory, disk, and CPU time compared with writing the table of the second file. It does not judge
 * the rows of the feed: the tests of feeds do.
 */

/** The default of `tableMemoryMB`, with which a function has a whole core. */
const MEMORY_MB = WHOLE_CORE_MB;
/** The CPU limit for the largest file: 1 GB against 1 GB. */
const MOST_SECONDS = 20;
/** The limit of growth: a file of ten times the size takes ten times the CPU and no more memory. */
const MOST_GROWTH = 1.25;
const MB = 1024 * 1024;
const LOOK_EVERY_MS = 200;
const BLOCK_BYTES = 512;

/** Differences of the second night per thousand rows: five removed, five added, ten changed. */
const GONE = 5;
const CHANGED = 10;

const TYPED = FILES.find(({ id }) => id === 'typed') as PublishedFile;
const LEFT_OUT = ['notes', 'owner', 'campaign'].map((name) => TYPED.header.indexOf(name));
const without = <T>(values: T[]) => values.filter((_, place) => !LEFT_OUT.includes(place));

/** Rows of 190 bytes in 17 columns, eight of them typed: 1 GB has more than five million keys. */
const NIGHT: PublishedFile = {
  ...TYPED,
  header: without(TYPED.header),
  row: (place) => without(TYPED.row(place)),
};

interface Measured {
  bytes: number;
  table: TableCost;
  feed: FeedCost;
  disk: number;
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
  await costOfTable({ ...writeFile(NIGHT, file, bytes), table: nights.before });
  const table = await costOfTable({ ...writeFile({ ...NIGHT, row: nextRow }, file, bytes), table: nights.after });
  rmSync(file);
  const made = await withPeakOfDisk(disk, () =>
    inChild<FeedCost>(join(import.meta.dirname, 'changes-child.ts'), nights, { ...process.env, TMPDIR: disk }),
  );
  rmSync(dir, { recursive: true });
  return { bytes, table, feed: made.result, disk: made.peak };
}

function runOf({ bytes, table, feed, disk }: Measured): Found['runs'][number] {
  const { inserts, deletes, updates } = feed.feed;
  const diskPrice = ((DISK_MB - 512) / 1024) * PRICE.diskGigabyteSecond;
  return {
    'each file': `${bytes / 1e6} MB`,
    rows: String(feed.feed.rows),
    'its table': `${(table.bytes / 1e6).toFixed(0)} MB`,
    '+ - ~': `${inserts} ${deletes} ${updates}`,
    'feed MB': (feed.bytes / 1e6).toFixed(1),
    'CPU s': feed.cpuSeconds.toFixed(1),
    'of the table': table.cpuSeconds.toFixed(1),
    'MB of memory': (feed.maxRss / MB).toFixed(0),
    'MB of disk': (disk / MB).toFixed(0),
    'US dollars': (feed.cpuSeconds * ((WHOLE_CORE_MB / 1024) * PRICE.gbSecond + diskPrice)).toFixed(5),
    'of it disk': (feed.cpuSeconds * diskPrice).toFixed(5),
  };
}

function targetsOf(id: string, { bytes, feed, disk }: Measured, smaller?: Measured): Target[] {
  const growth = smaller && feed.cpuSeconds / bytes / (smaller.feed.cpuSeconds / smaller.bytes);
  return [
    atMost(`changes-${id}-memory-mb`, MEMORY_MB, feed.maxRss / MB),
    atMost(`changes-${id}-disk-mb`, DISK_MB, disk / MB),
    atMost(`changes-${id}-seconds`, MOST_SECONDS, feed.cpuSeconds),
    ...(growth === undefined ? [] : [atMost(`changes-${id}-cpu-growth`, MOST_GROWTH, growth)]),
  ];
}

/** A row of the second night: unchanged except for a few rows, and at another position. */
function nextRow(place: number): unknown[] {
  const swapped = place ^ 1;
  const fate = (swapped * 7919) % 1000;
  const [id, ...rest] = NIGHT.row(swapped);
  if (fate < GONE) return [1e9 + swapped, ...rest];
  return fate < GONE + CHANGED ? [id, ...rest.slice(0, -1), 'changed'] : [id, ...rest];
}

/** The peak disk use of a folder during the work, in bytes, measured five times a second. */
async function withPeakOfDisk<T>(dir: string, work: () => Promise<T>): Promise<{ result: T; peak: number }> {
  let peak = 0;
  const look = setInterval(() => {
    peak = Math.max(peak, bytesIn(dir));
  }, LOOK_EVERY_MS);
  try {
    return { result: await work(), peak };
  } finally {
    clearInterval(look);
  }
}

function bytesIn(dir: string): number {
  return readdirSync(dir, { recursive: true }).reduce((bytes, name) => {
    // Some files are removed in the meantime.
    const file = statSync(join(dir, String(name)), { throwIfNoEntry: false });
    return bytes + (file ? file.blocks * BLOCK_BYTES : 0);
  }, 0);
}
