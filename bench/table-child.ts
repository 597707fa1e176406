import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeFeed } from '../core/changes/write-feed.ts';
import type { TableSettings } from '../core/config/table-settings.ts';
import { fileSource } from '../core/file/byte-source.ts';
import { DISK_MB, inFolder } from '../core/table/engine.ts';
import { writeParquet } from '../core/table/write-parquet.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { doJob } from './child.ts';

/** Makes the table of a file, or the feed between two tables, and reports the cost. */

/** A written file, the settings of its table, and the path for the table. */
export interface TableJob {
  path: string;
  bytes: number;
  crc32: string;
  header: string[];
  settings: Pick<TableSettings, 'columns' | 'hash'>;
  table: string;
}

/** Two tables and the path for the feed between them. */
export interface FeedJob {
  before: string;
  after: string;
  feed: string;
}

/** The size of the result, and what the writer counted. */
export interface Made {
  bytes: number;
  rows: number;
}

await doJob(async (job: TableJob | FeedJob): Promise<Made> => {
  const { rows } = await ('feed' in job ? feed(job) : table(job));
  return { rows, bytes: (await stat('feed' in job ? job.feed : job.table)).size };
});

async function table({ path, bytes, crc32, header, settings, table }: TableJob) {
  await using opened = await open(path);
  const dialect = { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' };
  const stored = { key: path, bytes, crc32, contentType: 'text/csv', storedAt: '2026-11-22T01:00:00Z', restarts: 0 };
  const file = { ...stored, undeclaredEnd: false, format: 'csv', compression: null, content: null, rows: null };
  const run = { entity: 'leads' as const, date: '2026-11-22', request: { columns: header } };
  const input = {
    manifest: { execution: 'leads-1', run, file: { ...file, dialect, header } },
    settings: { misfit: 'stop' as const, version: 1, ...settings },
    source: await fileSource(opened),
    reading: { contentBytes: 1e9, diskBytes: 1e10, secondsLeft: () => 900 },
    ...{ identity: 'i', hashKey: 'a key of the benchmark' },
  };
  const limits = { bufferMB: WHOLE_CORE_MB * 0.75, diskBytes: 1e10, onProgress: () => undefined };
  return await inFolder('table-', (folder) => writeParquet(input, table, { ...limits, folder }));
}

function feed({ before, after, feed }: FeedJob) {
  const columns = { key: ['id'], ignore: [] };
  const place = {
    ...{ sequence: 2, asSnapshot: false },
    from: { run: 'a', date: '2026-11-21', ...columns },
    to: { run: 'b', date: '2026-11-22', ...columns },
  };
  const disk = { folder: dirname(feed), diskBytes: DISK_MB * 1024 * 1024 };
  const limits = { bufferMB: WHOLE_CORE_MB * 0.6 - 150, ...disk, onProgress: () => undefined };
  return writeFeed({ before, after, feed, ...place }, limits);
}
