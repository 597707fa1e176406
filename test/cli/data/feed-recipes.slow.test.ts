import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDuckDb } from '../../core/table/support.ts';
import { folderForAll } from '../../lib/support/files.ts';
import { feedRecipe } from '../../support/feed-recipes.ts';
import { copyTo, type FeedSettings, night } from '../../support/feed-runs.ts';
import { tempDir } from '../../support/project.ts';
import { publishedRuns } from '../../support/published-run.ts';

/**
 * Runs the DuckDB queries of `docs/recipes`. `test/long/feed-nights.test.ts`: thirty nights, and the Python recipes.
 */

const SETTINGS = { tables: {}, changes: { ignore: ['updatedAt'] } };
const OTHER = { ...SETTINGS, changes: { ...SETTINGS.changes, maxRemoved: 1 }, tables: { columns: { name: 'text' } } };
/** The last ones have names that the queries use, too, and no values. */
const COLUMNS = ['id', 'name', 'status', 'updatedAt', 'sequence', 'replaced', 'place'];

/**
 * Four nights: empty and repeated keys, a change in an ignored column only, a snapshot in between, two runs of a date.
 */
const NIGHTS: [run: string, date: string, rows: string[], settings: FeedSettings][] = [
  ['n1', '2026-11-18', ['1,a,x,t1', '2,b,x,t1', '3,c,x,t1', ',k,x,t1', ',k,x,t1', '7,p,x,t1', '7,q,x,t1'], SETTINGS],
  ['n2', '2026-11-19', ['1,a,x,t2', '2,B,x,t2', '3,c,x,t1', ',k,x,t2', '7,p,x,t2', '7,r,x,t1'], SETTINGS],
  ['n3', '2026-11-20', ['1,a,x,t3', '2,B,x,t2', '4,d,x,t3', ',k,x,t3', ',k,x,t3', '7,p,x,t1', '7,r,x,t1'], OTHER],
  ['n4', '2026-11-21', ['1,A,y,t4', '4,d,x,t4', ',k,x,t1', ',k,x,t1', '7,p,x,t1'], OTHER],
  ['n5', '2026-11-21', ['1,A,z,t4', '5,e,x,t4', ',k,x,t1', ',k,x,t1', '7,p,x,t1'], OTHER],
];

async function nights() {
  const world = await publishedRuns();
  for (const [run, date, rows, settings] of NIGHTS) {
    const written = await night(world, run, date, `${[COLUMNS, ...rows].join('\n')}\n`, settings);
    expect(written).toMatchObject({ outcome: 'CHANGES_WRITTEN' });
  }
  return world;
}

const read = folderForAll();

/** A folder with the objects that readers have after these runs. */
let bucket: string | undefined;

/** DuckDB with a folder of the readers' objects. @param gone runs whose feeds have expired */
async function reader(gone: string[] = []) {
  if (bucket === undefined) {
    bucket = join(read, 'all');
    copyTo(await nights(), bucket);
  }
  const own = await tempDir();
  const expired = (path: string) => gone.some((run) => path.includes(`run=${run}/`));
  await cp(bucket, own, { recursive: true, filter: (path) => !expired(`${path}/`) });
  const duckdb = await openDuckDb(own);
  onTestFinished(duckdb.close);
  const recipe = (name: Parameters<typeof feedRecipe>[0], since = '2026-11-19') =>
    duckdb.rows(feedRecipe(name, { bucket: own, newest: '2026-11-21', since }));
  return { bucket: own, duckdb, recipe };
}

const rowsOf = (run: string) =>
  (NIGHTS.find(([name]) => name === run)?.[2] ?? []).map((row) => row.split(',').slice(0, 3)).toSorted();

/** The rows of a date, from the history. */
const tableAt = (date: string) =>
  `SELECT id, name, status FROM history, range(_copies::BIGINT)
   WHERE valid_from <= DATE '${date}' AND (valid_to IS NULL OR valid_to > DATE '${date}') ORDER BY ALL`;

const HISTORY = [
  [',k,x', '1', '2026-11-19', '2026-11-20'],
  [',k,x', '2', '2026-11-18', '2026-11-19'],
  [',k,x', '2', '2026-11-20', null],
  ['1,A,y', '1', '2026-11-21', '2026-11-21'],
  ['1,A,z', '1', '2026-11-21', null],
  ['1,a,x', '1', '2026-11-18', '2026-11-21'],
  ['2,B,x', '1', '2026-11-19', '2026-11-21'],
  ['2,b,x', '1', '2026-11-18', '2026-11-19'],
  ['3,c,x', '1', '2026-11-18', '2026-11-20'],
  ['4,d,x', '1', '2026-11-20', '2026-11-21'],
  ['5,e,x', '1', '2026-11-21', null],
  ['7,p,x', '1', '2026-11-18', null],
  ['7,q,x', '1', '2026-11-18', '2026-11-19'],
  ['7,r,x', '1', '2026-11-19', '2026-11-21'],
];

test('the recipe reads the feeds of a chain in order, and skips a feed that is not part of it', async () => {
  const { bucket, duckdb, recipe } = await reader();
  const day = join(bucket, 'changes/entity=leads/date=2026-11-21');
  const record = JSON.parse(readFileSync(join(day, 'run=n4/_feed.json'), 'utf8'));
  for (const [run, files] of Object.entries({
    unfinished: { 'changes.parquet': 'is being written' },
    lost: { 'changes.parquet': '', '_feed.json': JSON.stringify({ ...record, to: { ...record.to, run: 'lost' } }) },
  })) {
    mkdirSync(join(day, `run=${run}`));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(day, `run=${run}`, name), content);
  }

  await recipe('chain');

  expect(await duckdb.rows('SELECT sequence, kind, date::TEXT, replaced FROM chain ORDER BY sequence')).toEqual([
    ['1', 'snapshot', '2026-11-18', '3'],
    ['2', 'changes', '2026-11-19', '3'],
    ['3', 'snapshot', '2026-11-20', null],
    ['4', 'changes', '2026-11-21', null],
    ['5', 'changes', '2026-11-21', null],
  ]);
  const told = await recipe('told', '2026-11-20');
  expect(told.map((row) => [row[0], row[1], row.slice(7, 10).join()])).toEqual([
    ['update_preimage', '4', '1,a,x'],
    ['update_postimage', '4', '1,A,y'],
    ['delete', '4', '2,B,x'],
    ['delete', '4', '7,r,x'],
    ['update_preimage', '5', '1,A,y'],
    ['update_postimage', '5', '1,A,z'],
    ['delete', '5', '4,d,x'],
    ['insert', '5', '5,e,x'],
  ]);
});

test('the recipe follows the chain over numbers that a snapshot skips', async () => {
  const { bucket, duckdb, recipe } = await reader();
  const records = ['date=2026-11-20/run=n3', 'date=2026-11-21/run=n4', 'date=2026-11-21/run=n5'];
  for (const name of [...records.map((run) => `${run}/_feed.json`), 'head.json']) {
    const file = join(bucket, 'changes/entity=leads', name);
    const stored = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...stored, sequence: stored.sequence + 1 }));
  }

  await recipe('chain');

  const chain = await duckdb.rows('SELECT sequence, replaced FROM chain ORDER BY sequence');
  expect(chain.map(([sequence]) => sequence)).toEqual(['1', '2', '4', '5', '6']);
  expect(chain.map(([, replaced]) => replaced)).toEqual(['4', '4', null, null, null]);
});

test('the feeds folded together equal the newest table, and the recipe detects a missing feed', async () => {
  const { duckdb, recipe } = await reader();
  await recipe('chain');

  expect(await recipe('fold')).toEqual([]);
  expect(await duckdb.rows('SELECT id, name, status FROM folded ORDER BY ALL')).toEqual(rowsOf('n5'));
  await duckdb.rows('DELETE FROM chain WHERE sequence = 4');
  expect(await recipe('fold')).not.toEqual([]);
});

test('the history has each version of a row with its dates, also across a snapshot', async () => {
  const { duckdb, recipe } = await reader();
  await recipe('chain');
  await recipe('history');

  const rows = await duckdb.rows(
    `SELECT concat_ws(',', id, name, status), _copies::TEXT, valid_from::TEXT, valid_to::TEXT FROM history ORDER BY ALL`,
  );
  expect(rows).toEqual(HISTORY);
  for (const [run, date] of NIGHTS.filter(([name]) => name !== 'n4'))
    expect(await duckdb.rows(tableAt(date)), date).toEqual(rowsOf(run));
  const versions = await recipe('record');
  expect(versions.map((row) => [row[1], ...row.slice(-2)])).toEqual([
    ['q', '2026-11-18', '2026-11-19'],
    ['p', '2026-11-18', null],
    ['r', '2026-11-19', '2026-11-21'],
  ]);
  const balance = await recipe('balance');
  expect(balance.map(([what, id, name, status]) => [what, `${id},${name},${status}`])).toEqual([
    ['went', ',k,x'],
    ['came', ',k,x'],
    ['went', '1,a,x'],
    ['came', '1,A,z'],
    ['went', '2,B,x'],
    ['went', '3,c,x'],
    ['came', '5,e,x'],
    ['went', '7,r,x'],
  ]);
});

test('if no snapshot is kept, the history starts at the oldest feed, and its tables are right', async () => {
  const { duckdb, recipe } = await reader(['n1', 'n2', 'n3']);
  await recipe('chain');
  await recipe('start');
  await recipe('start');
  await recipe('history');

  expect(await duckdb.rows(tableAt('2026-11-20'))).toEqual(rowsOf('n3'));
  expect(await duckdb.rows(tableAt('2026-11-21'))).toEqual(rowsOf('n5'));
});

test('the queries for Athena give the same rows', async () => {
  const { bucket, duckdb, recipe } = await reader();
  const read = (glob: string) =>
    `SELECT * EXCLUDE (entity) FROM read_parquet('${bucket}/${glob}', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)`;
  await duckdb.rows('CREATE SCHEMA crm_export_prod');
  await duckdb.rows(`CREATE VIEW crm_export_prod.leads AS ${read('tables/entity=leads/*/*.parquet')}`);
  await duckdb.rows(`CREATE VIEW crm_export_prod.leads_changes AS ${read('changes/entity=leads/date=*/*/*.parquet')}`);
  await recipe('chain');

  const told = await recipe('told', '2026-11-20');
  expect((await recipe('athenaTold', '2026-11-20')).map((row) => row.slice(0, told[0]?.length))).toEqual(told);
  expect(await recipe('athenaFold')).toEqual([]);
  const history = (await recipe('athenaHistory')).map(([id, name, status, copies, from, to]) => [
    `${id},${name},${status}`,
    ...[copies, from, to],
  ]);
  expect(history.toSorted((one, other) => (String(one) < String(other) ? -1 : 1))).toEqual(
    HISTORY.toSorted((one, other) => (String(one) < String(other) ? -1 : 1)),
  );
});
