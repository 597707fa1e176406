import { createReadStream, statSync } from 'node:fs';
import { inFolder } from '../core/table/engine.ts';
import { NOTHING } from '../core/table/table-columns.ts';
import { type WrittenTable, writeParquet } from '../core/table/write-parquet.ts';
import { WHOLE_CORE_MB } from '../core/whole-core.ts';
import { answer, costOf, jobOfChild } from './child.ts';
import type { TableCost, TableJob } from './table-files.ts';

/** Makes the table of a file and reports its cost. */

const { path, bytes, crc32, header, settings, table } = jobOfChild<TableJob>();
const dialect = { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' };
const file = {
  key: path,
  bytes,
  crc32,
  contentType: 'text/csv',
  storedAt: '2026-11-22T01:00:00Z',
  restarts: 0,
  undeclaredEnd: false,
  format: 'csv',
  compression: null,
  content: null,
  dialect,
  rows: null,
  header,
};

const written: WrittenTable[] = [];
const cost = await costOf(async () => {
  const input = {
    manifest: {
      execution: 'leads-1',
      run: { entity: 'leads' as const, date: '2026-11-22', request: { columns: header } },
      file,
    },
    settings: { misfit: 'stop' as const, version: 1, ...settings },
    source: {
      size: bytes,
      read: (from: number, to: number) => createReadStream(path, { start: from, end: to - 1 }),
    },
    reading: { contentBytes: 1e9, diskBytes: 1e10, secondsLeft: () => 900 },
    covered: NOTHING,
    digest: 'd',
    identity: 'i',
    hashKey: 'a key of the benchmark',
    softwareVersion: '0.0.0',
  };
  const limits = { bufferMB: WHOLE_CORE_MB * 0.75, diskBytes: 1e10, onProgress: () => undefined };
  written.push(await inFolder('table-', (folder) => writeParquet(input, table, { ...limits, folder })));
});
answer({ ...cost, rows: written[0]?.rows ?? 0, bytes: statSync(table).size } satisfies TableCost);
