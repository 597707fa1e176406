import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { headKey } from '../../../core/changes/chain/feed-keys.ts';
import { latestPointerKey } from '../../../core/export/pointer.ts';
import { feedObjects } from '../../../lambdas/write-changes/feed-objects.ts';
import { writeChanges } from '../../../lambdas/write-changes/write-changes.ts';
import { writeTable } from '../../../lambdas/write-table/write-table.ts';
import { tree } from '../../lib/support/files.ts';
import { deployment, runState, STARTED_AT } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { manifestKeyOf, manifestOf, pointerTo } from '../../support/manifests.ts';
import type { publishedRuns } from '../../support/published-run.ts';

export type World = Awaited<ReturnType<typeof publishedRuns>>;
interface Settings {
  tables?: object;
  changes?: object;
}

export function depsOn(world: World, { tables = {}, changes = {} }: Settings = {}) {
  const leads = { tables, changes: { key: 'id', ...changes } };
  const own = { objects: feedObjects(world.client, 'exports', undefined, 1), softwareVersion: '1.2.3' };
  const deps = { ...testDeps({ deployment: deployment({ entities: { leads } }) }), ...world.stored(1), ...own };
  return { ...deps, hashKey: async () => 'k'.repeat(64) };
}

export const stateOf = (run: string) => runState({ manifestKey: manifestKeyOf(run), outcome: 'CHANGES_DUE' });

/** A night as it is when the table is written. */
export async function publish(
  world: World,
  run: string,
  date: string,
  csv: string,
  settings?: Settings,
): Promise<void> {
  await world.publish(csv, run, {}, undefined, { date });
  const latest = pointerTo(manifestOf({ execution: run, date, startedAt: STARTED_AT }));
  await world.put(latestPointerKey('leads'), JSON.stringify(latest));
  await writeTable(runState({ manifestKey: manifestKeyOf(run), machineVersion: 4 }), depsOn(world, settings));
}

export async function night(world: World, run: string, date: string, csv: string, settings?: Settings) {
  await publish(world, run, date, csv, settings);
  return writeChanges(stateOf(run), depsOn(world, settings));
}

export const feedKeyOf = (run: string, date: string) => `changes/entity=leads/date=${date}/run=${run}/changes.parquet`;
export const headOf = ({ store }: World) => JSON.parse(String(store.object(headKey('leads'))?.body));
export const feedsIn = ({ store }: World) =>
  store
    .keys()
    .filter((key) => /^changes\/.*changes\.parquet$/.test(key))
    .sort();

/** Rows of a feed, by DuckDB: change, id, name. */
export async function rowsOf({ store }: World, key: string): Promise<string[]> {
  const file = join(tree({}), 'changes.parquet');
  writeFileSync(file, store.object(key)?.body ?? '');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const sql = `SELECT _change_type, id, name FROM read_parquet('${file}', hive_partitioning = false) ORDER BY ALL`;
  const rows = (await connection.runAndReadAll(sql)).getRowsJson();
  connection.closeSync();
  return rows.map((row) => row.join(' '));
}

export const many = (count: number, from = 0) =>
  `id,name\n${Array.from({ length: count }, (_, place) => `${from + place},n${from + place}\n`).join('')}`;
