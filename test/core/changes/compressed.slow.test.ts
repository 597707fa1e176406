import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { placeForTables } from '../table/support.ts';
import { IDENTITY, judged, NAMES, putFeed, putTexts } from './support.ts';

const { dir, duckDb } = await placeForTables();
const paths = { before: join(dir, 'before.parquet'), after: join(dir, 'after.parquet'), feed: join(dir, 'f.parquet') };

/** Two tables with the given number of rows and one difference, written by DuckDB and read by another library. */
async function putMany(rows: number, text: string, key = "'key ' || i") {
  for (const [path, from] of [
    ['before', 0],
    ['after', 1],
  ] as const) {
    const row = `SELECT ${key} AS a, ${text} AS b, '' AS c, NULL::VARCHAR AS d, i FROM range(${from}, ${rows} + ${from}) t(i)`;
    await duckDb.rows(
      `COPY (SELECT * EXCLUDE (i) FROM (${row}) ORDER BY i ${from ? 'DESC' : ''}) TO '${paths[path]}' (FORMAT parquet, ROW_GROUP_SIZE 2048${IDENTITY})`,
    );
  }
}

const compare = (limits = {}) => putFeed(paths.feed, { before: paths.before, after: paths.after, key: ['a'] }, limits);
const changes = (count: number) => ({ kind: 'changes', inserts: count, deletes: count, updates: 0 });

test('compares tables with small files and large rows', async () => {
  await putMany(9000, "repeat('x', 16384)");
  expect(await compare()).toMatchObject(changes(1));
});

test('compares rows that all have the same key, with little memory', async () => {
  await putMany(150_000, "'name ' || i", "'x'");
  const counts = { keys: 1, gone: 0, unmatched: 300_000, rows: 150_000 };
  expect(await compare({ bufferMB: 157 })).toEqual({ of: 'keys', ...counts, ...changes(1) });
});

test('a feed contains exactly the rows that differ, even if rows spill to disk', async () => {
  await putMany(150_000, "lpad(i::VARCHAR, 100, 'x')");
  const limits = { bufferMB: 30 };

  await expect(compare({ ...limits, diskBytes: 64 * 1024 })).rejects.toMatchObject({ kind: 'disk' });
  expect(await compare(limits)).toMatchObject(changes(1));
  const { taken, gone, added, come } = await judged(paths);
  expect([taken, added]).toEqual([gone, come]);
});

test('compares tables of 1,000 columns', async () => {
  const names = Array.from({ length: 1000 }, (_, at) => `c${at}`);
  const rows = (changed: number) =>
    Array.from({ length: 300 }, (_, at) =>
      names.map((_, column) => `${at}${at === changed && column === 999 ? '!' : ''}`),
    );
  await putTexts(paths.before, names, rows(-1));
  await putTexts(paths.after, names, rows(7));
  const written = await putFeed(paths.feed, { before: paths.before, after: paths.after, key: ['c0'] });
  expect(written).toMatchObject({ inserts: 0, deletes: 0, updates: 1 });
});

test('the error for a damaged table contains no value of a row', async () => {
  await putTexts(paths.before, NAMES, [['secret-1', 'secret-2', 'secret-3', 'secret-4']]);
  const whole = readFileSync(paths.before);
  // The footer at its end is intact; the rows are not.
  writeFileSync(paths.after, Buffer.concat([Buffer.alloc(40, 'secret'), whole.subarray(40)]));

  const refused = await compare().catch((error: Error) => error);

  expect(refused).toMatchObject({ kind: expect.stringMatching(/^[A-Z][A-Za-z ]+ Error$/) });
  expect(JSON.stringify(refused, Object.getOwnPropertyNames(refused))).not.toMatch(/secret-|\.parquet/);
});
