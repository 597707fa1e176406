import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { atMost, benchmark, type Found, keepToOneCore } from './kit.ts';
import { costOfTable, FILES, type PublishedFile, writeFile } from './table-files.ts';

/**
 * `npm run bench:tables`: measures memory and CPU of WriteTable for the Parquet file of a published CSV file of 1 GB,
 * in a fresh process on one core.
 */

const MOST_MEGABYTES = 1769;
const MOST_SECONDS = 60;

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const bytes = quick ? 4_000_000 : 1_000_000_000;
  for (const file of FILES) {
    await experiment([file.id], file.what, () => measure(file, join(dir, `${file.id}.csv`), bytes));
  }
});

async function measure(file: PublishedFile, path: string, bytes: number): Promise<Found> {
  const table = await costOfTable(writeFile(file, path, bytes));
  for (const one of [path, `${path}.parquet`]) rmSync(one);
  const megabytes = table.maxRss / 1024 / 1024;
  const run = {
    file: file.what,
    rows: String(table.rows),
    'CPU s': table.cpuSeconds.toFixed(1),
    'MB/s of CPU': (bytes / 1e6 / table.cpuSeconds).toFixed(1),
    'MB of memory': megabytes.toFixed(0),
    'table / file': (table.bytes / bytes).toFixed(2),
  };
  const targets = [
    atMost(`tables-${file.id}-memory-mb`, MOST_MEGABYTES, megabytes),
    atMost(`tables-${file.id}-cpu-s`, MOST_SECONDS, table.cpuSeconds),
  ];
  return { runs: [run], targets };
}
