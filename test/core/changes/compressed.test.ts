import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { compareTables } from '../../../core/changes/compare-tables.ts';
import { rowPlan } from '../../../core/changes/row-record.ts';
import type { TableReader } from '../../../core/changes/table-reader.ts';
import { tree } from '../../lib/support/files.ts';

const KIB = 1024;
const COLUMNS = ['id', 'text'].map((name) => ({ name, type: 'BYTE_ARRAY' as const }));

/** A table of so many rows of 16 KiB each, in which one text stands in every row: as a file it is small. */
function tableOf(rows: number, idOf: (row: number) => string): TableReader {
  const text = Buffer.alloc(16 * KIB, 'x');
  return {
    columns: COLUMNS,
    rows,
    said: {},
    async *groups() {
      const ids = Array.from({ length: rows }, (_, row) => Buffer.from(idOf(row)));
      yield { rows, columns: [ids, ids.map(() => text)] };
    },
  };
}

async function changesTo(after: TableReader, diskBytes = 1e9): Promise<number> {
  const counts = { keys: 0, gone: 0, unmatched: 0 };
  const before = tableOf(1, String);
  const plan = rowPlan(COLUMNS, ['id'], []);
  let changes = 0;
  for await (const part of compareTables({ before, after, plan, diskBytes, onProgress: () => undefined }, counts))
    for (const _ of part) changes += 1;
  return changes;
}

test('tables are compared that are small as files and large as rows', async () => {
  expect(await changesTo(tableOf(9000, String))).toBe(8999);
});

test('rows of one key that do not fit into the memory are refused', async () => {
  await expect(changesTo(tableOf(9000, () => 'one'))).rejects.toThrow('Too many rows have the same key');
});

test('rows that all have one key are compared with little memory, and the time is looked at meanwhile', async () => {
  const script = ['--max-old-space-size=40', 'test/core/changes/fixtures/one-key.ts', '150000'];

  const { stdout } = await promisify(execFile)(process.execPath, script);

  const counts = { keys: 1, gone: 0, unmatched: 300_000 };
  expect(JSON.parse(stdout)).toEqual({ counts, changes: 2, asked: true });
});

test('rows that the disk has no room for are refused before it is full, with the room that there was', async () => {
  const folder = tree({});
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  // Each has its text, its key of at most three letters, and what describes the row.
  const least = 1000 * 16 * KIB;
  expect(await changesTo(tableOf(999, String), least + 40_000)).toBe(998);

  const refused = changesTo(tableOf(999, String), least);

  await expect(refused).rejects.toThrow(/take more than the 16 MB that are left .* `tables.except` leaves them out/);
  expect(readdirSync(folder)).toEqual([]);
});
