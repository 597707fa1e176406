import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { tableMemorySchema } from '../core/config/table-settings.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { streaming } from '../lib/workflow/node-options.ts';
import { inChild, type ProcessCost } from './child.ts';
import { type CsvFile, CUSTOMERS, nextNight, TYPES, WIDE, writeCsv } from './csv-files.ts';
import { atMost, benchmark, type Found, keepToOneCore } from './kit.ts';
import type { FeedJob, Made, TableJob } from './table-child.ts';

/**
 * `npm run bench:tables`: measures memory and CPU of WriteTable for the Parquet file of a published CSV file of 1 GB,
 * and of WriteChanges for the feed between two such tables, each in a fresh process on one core. It does not judge the
 * rows: the tests of tables and feeds do.
 */

const KINDS: [id: string, what: string, file: CsvFile, settings: TableJob['settings']][] = [
  ['text', '17 columns of text', CUSTOMERS, { columns: {} }],
  ['typed', '17 columns, 8 with types', CUSTOMERS, { columns: TYPES }],
  ['hashed', '17 columns of text, 2 hashed', CUSTOMERS, { columns: {}, hash: ['phone', 'email'] }],
  ['wide', '1000 columns of text', WIDE, { columns: {} }],
];
const MOST_TABLE_SECONDS = 60;
const MOST_FEED_SECONDS = 20;

await benchmark(async ({ quick, dir, experiment }) => {
  keepToOneCore();
  const size = quick ? 4_000_000 : 1_000_000_000;
  const write = (file: CsvFile, name: string, settings: TableJob['settings']): TableJob => {
    const path = join(dir, name);
    return { ...writeCsv(file, path, size), settings, table: `${path}.parquet` };
  };
  for (const [id, what, file, settings] of KINDS) {
    await experiment(id, what, async () => {
      const job = write(file, id, settings);
      const made = await make(job);
      for (const path of [job.path, job.table]) rmSync(path);
      return found(id, what, made, size, MOST_TABLE_SECONDS);
    });
  }
  await experiment('changes', 'The feed between two tables with types', async () => {
    const settings = { columns: TYPES };
    const [before, after] = [write(CUSTOMERS, 'before', settings), write(nextNight(CUSTOMERS), 'after', settings)];
    for (const job of [before, after]) await make(job);
    const made = await make({ before: before.table, after: after.table, feed: join(dir, 'feed.parquet') });
    return found('changes', 'the feed', made, size, MOST_FEED_SECONDS);
  });
});

/** Makes a table or a feed in a process with the options of the function. */
function make(job: TableJob | FeedJob) {
  const environment = { ...process.env, ...('feed' in job ? {} : streaming(tableMemorySchema.parse(undefined))) };
  return inChild<Made>(join(import.meta.dirname, 'table-child.ts'), job, environment);
}

function found(id: string, what: string, made: Made & ProcessCost, size: number, mostSeconds: number): Found {
  const megabytes = made.maxRss / 1024 / 1024;
  const run = {
    ...{ what, rows: made.rows, 'CPU s': made.cpuSeconds.toFixed(1) },
    'MB/s of CPU': (size / 1e6 / made.cpuSeconds).toFixed(1),
    'MB of memory': megabytes.toFixed(0),
    'result / file': (made.bytes / size).toFixed(2),
  };
  return {
    runs: [run],
    targets: [
      atMost(`tables-${id}-memory-mb`, WHOLE_CORE_MB, megabytes),
      atMost(`tables-${id}-cpu-s`, mostSeconds, made.cpuSeconds),
    ],
  };
}
