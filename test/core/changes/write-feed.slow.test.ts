import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectMessages } from '../../support/screen.ts';
import { placeForTables, putTable } from '../table/support.ts';
import { putFeed } from './support.ts';

const { dir, duckDb } = await placeForTables();
const paths = { before: join(dir, 'before.parquet'), after: join(dir, 'after.parquet') };
const feedPath = join(dir, 'changes.parquet');

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
