import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { headKey } from '../../../core/changes/chain/feed-keys.ts';
import { tree } from '../../lib/support/files.ts';
import type { FeedWorld as World } from '../../support/feed-runs.ts';

export { depsOn, type FeedWorld as World, night, publish, stateOf } from '../../support/feed-runs.ts';

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
