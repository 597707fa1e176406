import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { baseKey, headKey } from '../../core/changes/chain/feed-keys.ts';
import { tableKey } from '../../core/table/table-key.ts';
import { Draw } from '../../sandbox/data/draw.ts';
import { openDuckDb } from '../core/table/support.ts';
import { feedNights } from '../support/feed-nights.ts';
import { feedRecipe } from '../support/feed-recipes.ts';
import { runs } from '../support/runs.ts';
import { type Copies, openCopies, pythonForCopies } from './support/feeds/copies.ts';
import { differencesOfCopy } from './support/feeds/judge.ts';
import { drawEvents, ThirtyNights } from './support/feeds/thirty-nights.ts';

/**
 * Thirty nights with everything that may befall them, through the steps themselves. Each morning a copy in SQLite is kept in step by the Python of
 * `docs/reading.md`, which is killed at some line now and then, and the feeds are folded by its DuckDB.
 */

const NIGHTS = 30;
/** `FEEDS_SEED=… npx vitest run --project long test/long/feed-nights.test.ts` has the same nights again. */
const SEED = process.env.FEEDS_SEED ?? randomUUID().slice(0, 8);
const SEEDS = Array.from({ length: runs(4) }, (_, place) => ({ seed: SEED, place }));

let python: string;
let dir: string;

beforeAll(async () => {
  python = await pythonForCopies();
  dir = mkdtempSync(join(tmpdir(), 'feed-nights-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Keeps a copy in step, as somebody would whose machine is switched off in the middle now and then. @returns whether it was killed */
async function keep(
  copies: Copies,
  file: string,
  draw: Draw,
  lines: number,
): Promise<{ killed: boolean; lines: number }> {
  const killed = draw.chance(0.5) && (await copies.run(file, draw.int(1, lines))).status === null;
  const ran = await copies.run(file);
  expect(ran).toMatchObject({ status: 0, said: '' });
  return { killed, lines: ran.lines };
}

test.each(SEEDS)(
  'a copy that feeds keep is the newest table each morning, over thirty nights ($seed, $place)',
  async ({ seed, place }) => {
    const draw = new Draw(`feeds/${seed}`, place);
    const world = await feedNights();
    const nights = new ThirtyNights(world, draw);
    const home = mkdtempSync(join(dir, 'nights-'));
    const [bucket, copy] = [join(home, 'bucket'), join(home, 'copy.db')];
    const copies = openCopies(python, world.store.endpoint, home);
    onTestFinished(copies.close);
    const duckdb = await openDuckDb(home);
    onTestFinished(duckdb.close);
    const seen = { current: 0, behind: 0, killed: 0, anew: 0, lines: 400 };
    const tables = new Map<string, string>();

    for (const event of ['ordinary', ...drawEvents(NIGHTS - 1, draw)] as const) {
      await nights.night(event);
      const where = `${seed} ${place}, ${nights.date}, ${event}`;
      world.copyTo(bucket);
      if (!existsSync(join(bucket, headKey('leads')))) continue;
      const { end } = await world.head();
      if (!end) continue;
      // A reader who was not there applies several feeds the next day.
      const absent = draw.chance(0.15);
      if (absent) continue;
      const { killed, lines } = await keep(copies, copy, draw, seen.lines);
      seen.killed += Number(killed);
      seen.lines = Math.max(lines, 50);
      const base = join(bucket, baseKey('leads', end.run));
      if (existsSync(base)) expect(await differencesOfCopy(duckdb, copy, base, end.ignore), where).toEqual([]);
      if (!(await world.isCurrent())) {
        seen.behind += 1;
        continue;
      }
      seen.current += 1;
      const table = join(bucket, tableKey('leads', end.date, 1));
      expect(await differencesOfCopy(duckdb, copy, table, end.ignore), where).toEqual([]);
      await duckdb.rows(feedRecipe('chain', { bucket }));
      expect(await duckdb.rows(feedRecipe('fold', { bucket, newest: end.date })), where).toEqual([]);
      const kept = join(home, `${end.date}.parquet`);
      copyFileSync(table, kept);
      tables.set(end.date, kept);
      if (draw.chance(0.1)) {
        const fresh = join(home, `fresh-${end.date}.db`);
        expect(await copies.run(fresh)).toMatchObject({ status: 0 });
        expect(await differencesOfCopy(duckdb, fresh, table, []), where).toEqual([]);
        seen.anew += 1;
      }
    }

    process.stdout.write(`${JSON.stringify({ seed, place, ...seen, ends: Object.fromEntries(nights.ends) })}\n`);
    expect(seen.current).toBeGreaterThan(12);
    expect(seen.killed).toBeGreaterThan(2);
    expect(nights.ends.get('ChangesStopped')).toBeGreaterThan(1);
  },
);
