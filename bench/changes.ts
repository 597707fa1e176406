import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { gathering } from '../lib/workflow/node-options.ts';
import type { FeedCost } from './changes/feed-child.ts';
import { writeNextNight } from './changes/nights.ts';
import { inChild } from './support/children.ts';
import { benchmark, type Found, keepToOneCore } from './support/kit.ts';
import { atMost } from './support/targets.ts';
import { costOfTable, FILES, type PublishedFile, writeFile } from './tables/files.ts';

/**
 * `npm run bench:changes`: the feed between the tables of two files of 1 GB, in a fresh process on one core: its memory, and
 * its CPU beside that of writing the table of the second file, and beside DuckDB's full outer join of the two. What the feed writes is
 * counted and discarded.
 */

const MEMORY_MB = 1024;
const MOST_TIMES = 3;
const TYPED = FILES.find(({ id }) => id === 'typed') as PublishedFile;
const SIZES = { small: 10_000_000, medium: 100_000_000, large: 1_000_000_000 };

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const sizes = quick ? { small: 4_000_000 } : SIZES;
  for (const [id, bytes] of Object.entries(sizes)) {
    await experiment([id], `${bytes / 1e6} MB against ${bytes / 1e6} MB`, () => measure(id, dir, bytes));
  }
});

async function measure(id: string, dir: string, bytes: number): Promise<Found> {
  const [before, after] = [join(dir, `${id}-before.parquet`), join(dir, `${id}-after.parquet`)];
  await costOfTable({ ...writeFile(TYPED, join(dir, 'file.csv'), bytes), table: before });
  const table = await costOfTable({ ...writeNextNight(TYPED, join(dir, 'file.csv'), bytes), table: after });
  const cost = await inChild<FeedCost>(
    join(import.meta.dirname, 'changes', 'feed-child.ts'),
    { before, after },
    {
      ...process.env,
      ...gathering(MEMORY_MB),
    },
  );
  const joined = await secondsOfJoin(before, after);
  const megabytes = cost.maxRss / 1024 / 1024;
  const { changes, rows } = cost.feed;
  const run = {
    'each file': `${bytes / 1e6} MB, as a table ${(statSync(after).size / 1e6).toFixed(0)} MB`,
    rows: String(rows),
    changes: `${changes.insert} + ${changes.delete} + ${changes.update_postimage}`,
    'CPU s': cost.cpuSeconds.toFixed(1),
    'CPU s of the table': table.cpuSeconds.toFixed(1),
    'CPU s of a join by DuckDB': joined.toFixed(1),
    'MB of memory': megabytes.toFixed(0),
  };
  const targets = [
    atMost(`changes-${id}-memory-mb`, MEMORY_MB, megabytes),
    atMost(`changes-${id}-times-the-table`, MOST_TIMES, cost.cpuSeconds / table.cpuSeconds),
  ];
  return { runs: [run], targets };
}

/** CPU of finding the same changes by a full outer join. */
async function secondsOfJoin(before: string, after: string): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const started = process.cpuUsage();
  await connection.run(
    `select count(*) from read_parquet('${before}') b full outer join read_parquet('${after}') a using (id) where b is distinct from a`,
  );
  const { user, system } = process.cpuUsage(started);
  connection.closeSync();
  instance.closeSync();
  return (user + system) / 1e6;
}
