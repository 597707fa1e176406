import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { engineTrouble } from '../../../core/table/engine.ts';
import { runs } from '../../support/runs.ts';
import { expectMessages } from '../../support/screen.ts';
import { placeForTables, putTable } from '../table/support.ts';
import { NAMES, pairs } from './pairs.ts';
import { IDENTITY, judged, putFeed, putTexts } from './support.ts';

const { dir, duckDb } = await placeForTables();
const paths = { before: join(dir, 'before.parquet'), after: join(dir, 'after.parquet') };
const feedPath = join(dir, 'changes.parquet');

/** Adds 150,000 rows to a table, so that a function with little memory also uses its disk. */
async function enlarge(path: string, order: string): Promise<void> {
  const more = `SELECT 'many ' || i AS a, lpad(i::VARCHAR, 100, 'x') AS b, '' AS c, NULL::VARCHAR AS d FROM range(150000) t(i)`;
  const rows = `(SELECT * FROM read_parquet('${path}.small')) UNION ALL (${more} ORDER BY i ${order})`;
  await duckDb.rows(`COPY (${rows}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048${IDENTITY})`);
}

/** Whether a feed cannot be written without rows on the disk. */
async function needsDisk(tables: Parameters<typeof putFeed>[1], bufferMB: number): Promise<boolean> {
  try {
    await putFeed(feedPath, tables, { bufferMB, diskBytes: 64 * 1024 });
    return false;
  } catch (error) {
    expect(engineTrouble(error)).toBe('disk');
    return true;
  }
}

test('a feed contains exactly the rows that differ, even if rows spill to disk', {
  timeout: 900_000,
}, async () => {
  const limited = { pairs: 0, needDisk: 0 };
  await fc.assert(
    fc.asyncProperty(pairs, async ({ tables: [before, after], key, ignore }) => {
      await putTexts(`${paths.before}.small`, NAMES, before);
      await putTexts(`${paths.after}.small`, NAMES, after);
      await enlarge(paths.before, 'ASC');
      await enlarge(paths.after, 'DESC');
      const tables = { ...paths, key, ignore };
      // Keys of several columns contain the long texts.
      const bufferMB = key.length === 1 ? 30 : 51;
      limited.pairs++;
      if (await needsDisk(tables, bufferMB)) limited.needDisk++;

      await putFeed(feedPath, tables, { bufferMB });

      const { taken, gone, added, come } = await judged({ ...paths, feed: feedPath }, ignore);
      expect([taken, added]).toEqual([gone, come]);
    }),
    // Each takes seconds: the long tests try a hundred, a tenth of the pairs of the property test.
    { numRuns: process.env.TEST_RUNS === undefined ? 3 : runs(100) },
  );
  // A pair without rows of its own may just fit in memory.
  expect(limited.needDisk).toBeGreaterThan(limited.pairs * 0.8);
});

const table = (path: string, content: string) => putTable(path, { content });

test('each row of a feed contains its change type, sequence number, kind, runs and dates', async () => {
  await table(paths.before, 'id,name\n1,a\n2,b\n');
  await table(paths.after, 'id,name\n2,c\n3,d\n');
  const feed = await putFeed(feedPath, paths);

  expect(await duckDb.rows(`select * from read_parquet('${feedPath}') order by id, _change_type desc`)).toEqual(
    [
      ['delete', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '1', 'a'],
      ['update_preimage', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '2', 'b'],
      ['update_postimage', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '2', 'c'],
      ['insert', '7', 'changes', 'leads-1', 'leads-2', '2026-11-21', '2026-11-22', '3', 'd'],
    ].sort((a, b) => `${a[7]}${b[0]}`.localeCompare(`${b[7]}${a[0]}`)),
  );
  expect(feed).toMatchObject({ rows: 2, keys: 2, gone: 1, unmatched: 0 });
});

test('writes a feed without rows, with the columns of the table, for equal tables', async () => {
  await table(paths.before, 'id,name\n1,a\n');
  await table(paths.after, 'id,name\n1,a\n');
  expect(await putFeed(feedPath, paths)).toMatchObject({ kind: 'changes', inserts: 0 });
  expect(await duckDb.columns('changes.parquet')).toContain('name VARCHAR');
  expect(await duckDb.rows(`select count(*)::int from read_parquet('${feedPath}')`)).toEqual([[0]]);
});

test('refuses a feed of a table with a column of feeds, or without a column that the settings name', async () => {
  const refused: [column: string, plan: { key: string[]; ignore?: string[] }][] = [
    ['_kind', { key: ['_kind'] }],
    ['_Change_Type', { key: ['_change_type'] }],
    ['Run', { key: ['run'] }],
    ['id', { key: ['number'] }],
    ['id', { key: ['id'], ignore: ['updatedat'] }],
  ];
  const told: [what: string, error: string][] = [];
  for (const [column, plan] of refused) {
    await table(paths.after, `${column}\n1\n`);
    const ended = putFeed(feedPath, { before: null, after: paths.after, ...plan });
    told.push([`${column} ${JSON.stringify(plan)}`, await ended.then(() => 'written', String)]);
  }
  await expectMessages('feed-refused', told);
});
