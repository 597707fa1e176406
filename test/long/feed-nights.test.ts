import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { baseKey, recordKey } from '../../core/changes/feed-keys.ts';
import { tableKey } from '../../core/table/stored-table.ts';
import { Draw } from '../../sandbox/data/draw.ts';
import { openDuckDb } from '../core/table/support.ts';
import { folderForAll } from '../lib/support/files.ts';
import { feedRecipe } from '../support/feed-recipes.ts';
import { copyTo, expire, headOf } from '../support/feed-runs.ts';
import { publishedRuns } from '../support/published-run.ts';
import { pythonWith } from '../support/python-with.ts';
import { runs } from '../support/runs.ts';
import { TEST_SEED } from '../support/seeds.ts';
import { type Copies, openCopies } from './support/feeds/copies.ts';
import { differencesOfCopy, differencesOfHistory } from './support/feeds/judge.ts';
import { drawEvents, ThirtyNights } from './support/feeds/thirty-nights.ts';

/**
 * Tests nights with all kinds of events, by the real steps. Each morning the Python of `docs/recipes`, sometimes killed
 * at some line, updates a copy in SQLite, and its DuckDB query folds the feeds. Any order of requests, faults and kills of
 * the steps themselves: `test/core/changes/chain/interleavings.test.ts`, `test/faults`.
 */

const NIGHTS = 30;
const PLACES = Array.from({ length: runs(4) }, (_, place) => ({ seed: TEST_SEED, place }));

const dir = folderForAll();
const python = await pythonWith('copies', 'long/support/feeds');

/** Sets up nights that readers read each morning. */
async function scene(draw: Draw) {
  const world = await publishedRuns();
  const nights = new ThirtyNights(world, draw);
  const home = mkdtempSync(join(dir, 'nights-'));
  const open = () => {
    const copies = openCopies(python, world.store.endpoint, home);
    onTestFinished(copies.close);
    return copies;
  };
  const duckdb = await openDuckDb(home);
  onTestFinished(duckdb.close);
  const [bucket, copy] = [join(home, 'bucket'), join(home, 'copy.db')];
  return { world, nights, home, bucket, copy, duckdb, copies: open(), open };
}
type Scene = Awaited<ReturnType<typeof scene>>;

/** Updates the copy. Sometimes a run is killed first, or two runs do so at once. */
async function keep({ copy, copies }: Scene, others: Copies, draw: Draw, seen: { killed: number; lines: number }) {
  const how = draw.next();
  if (how < 0.5) seen.killed += Number((await copies.run(copy, draw.int(1, seen.lines))).status === null);
  if (how > 0.9) await Promise.all([copies.run(copy), others.run(copy)]);
  const { lines, ...ended } = await copies.run(copy);
  expect(ended).toEqual({ status: 0, said: '' });
  if (lines > 50) seen.lines = lines;
}

/** Compares copy and folded feeds with the newest table, if the last feed ended there. @returns whether it did */
async function compareNewest(
  { world, nights, bucket, copy, duckdb }: Scene,
  where: string,
): Promise<string | undefined> {
  const { end } = headOf(world);
  if (!nights.isCurrent) return undefined;
  const table = join(bucket, tableKey('leads', end.date, 1));
  expect(await differencesOfCopy(duckdb, copy, table, end.ignore), where).toEqual([]);
  await duckdb.rows(feedRecipe('chain', { bucket }));
  expect(await duckdb.rows(feedRecipe('fold', { bucket, newest: end.date })), where).toEqual([]);
  return table;
}

/** Compares the history with each kept table, as far back as the chain goes. @returns the number of tables */
async function compareHistory({ duckdb }: Scene, tables: Map<string, string>, where: string): Promise<number> {
  await duckdb.rows(feedRecipe('history', { bucket: '' }));
  const [[first]] = (await duckdb.rows('SELECT min(date)::TEXT FROM chain')) as [[string]];
  const dates = [...tables].filter(([date]) => date >= first);
  for (const [date, table] of dates)
    expect(await differencesOfHistory(duckdb, date, table), `${where}, ${date}`).toEqual([]);
  return dates.length;
}

test.each(PLACES)(
  'thirty nights of feeds make the newest table each morning ($seed, $place)',
  async ({ seed, place }) => {
    const draw = new Draw(`feeds/${seed}`, place);
    const set = await scene(draw);
    const { world, nights, home, bucket, copy, duckdb, copies } = set;
    const others = set.open();
    const seen = { current: 0, behind: 0, killed: 0, lines: 400, anew: 0, history: 0 };
    const tables = new Map<string, string>();

    for (const event of ['ordinary', ...drawEvents(NIGHTS - 2, draw), 'ordinary'] as const) {
      await nights.night(event);
      const where = `${seed} ${place}, ${nights.date}, ${event}`;
      copyTo(world, bucket);
      const { end } = headOf(world);
      // A reader who is absent one morning applies several feeds on the next.
      if (!end || draw.chance(0.15)) continue;
      await keep(set, others, draw, seen);
      const base = join(bucket, baseKey('leads', end.run));
      if (existsSync(base)) expect(await differencesOfCopy(duckdb, copy, base, end.ignore), where).toEqual([]);
      const table = await compareNewest(set, where);
      if (table === undefined) {
        seen.behind += 1;
        continue;
      }
      seen.current += 1;
      tables.set(end.date, join(home, `${end.date}.parquet`));
      copyFileSync(table, join(home, `${end.date}.parquet`));
      if (seen.current % 5 > 0) continue;
      const fresh = join(home, `fresh-${end.date}.db`);
      expect(await copies.run(fresh)).toMatchObject({ status: 0 });
      expect(await differencesOfCopy(duckdb, fresh, table, []), where).toEqual([]);
      seen.anew += 1;
      seen.history += await compareHistory(set, tables, where);
    }

    expect(await copies.run(copy)).toMatchObject({ status: 0 });
    expect(await compareNewest(set, `${seed} ${place}, the last night`)).toBeDefined();
    process.stdout.write(`${JSON.stringify({ seed, place, ...seen, stops: nights.stops })}\n`);
    expect(seen.current).toBeGreaterThan(12);
    expect(seen.killed).toBeGreaterThan(2);
    expect(seen.history).toBeGreaterThan(3);
    expect(nights.stops).toBeGreaterThan(0);
  },
);

test('the recipe does not change a copy whose next feed is gone, and rebuilds it as advised', async () => {
  const set = await scene(new Draw('feeds/gap', 0));
  const { world, nights, copies, copy, bucket, duckdb } = set;
  await nights.night('ordinary');
  await copies.run(copy);
  await nights.night('ordinary');
  const { end } = headOf(world);
  await nights.night('ordinary');
  await expire(world, recordKey('leads', end));
  copyTo(world, bucket);

  const refused = await copies.run(copy);

  expect(refused).toMatchObject({ status: 1, said: expect.stringContaining(`${end.run}/_feed.json`) });
  expect(placeOf(copy)).toEqual({ sequence: 1, run: "lead's-2026-10-02-(1)!" });
  expect(refused.said).toContain('DELETE FROM applied');
  placeOf(copy, 'DELETE FROM applied');
  expect(await copies.run(copy)).toMatchObject({ status: 0 });
  expect(placeOf(copy)).toMatchObject({ sequence: 3 });
  const table = join(bucket, tableKey('leads', nights.date, 1));
  expect(await differencesOfCopy(duckdb, copy, table, [])).toEqual([]);
});

test('the recipe does not change a copy that another program has changed', async () => {
  const { nights, copies, copy } = await scene(new Draw('feeds/changed', 0));
  await nights.night('ordinary');
  await copies.run(copy);
  placeOf(copy, `UPDATE leads SET name = 'somebody else'`);
  await nights.night('ordinary');

  const refused = await copies.run(copy);

  expect(refused).toMatchObject({ status: 1, said: expect.stringMatching(/ feed 2 /) });
  expect(placeOf(copy)).toMatchObject({ sequence: 1 });
});

function placeOf(copy: string, change = '') {
  const database = new DatabaseSync(copy);
  try {
    database.exec(change);
    return database.prepare('SELECT sequence, run FROM applied').get();
  } finally {
    database.close();
  }
}
