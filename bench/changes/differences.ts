import { DuckDBInstance } from '@duckdb/node-api';
import type { TwoNights } from './feed-child.ts';
import { COLUMNS } from './nights.ts';

/** How many rows keep the table before, less what the feed takes away and with what it adds, from being the table after. By DuckDB. */
export async function differencesOf({ before, after, changes }: TwoNights): Promise<number> {
  const rows = (path: string, where = 'true') =>
    `select ${COLUMNS.join(', ')} from read_parquet('${path}') where ${where}`;
  const taken = rows(changes, "_change_type in ('delete', 'update_preimage')");
  const added = rows(changes, "_change_type in ('insert', 'update_postimage')");
  const folded = `((${rows(before)}) except all (${taken})) union all (${added})`;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`create table folded as ${folded}`);
  const recent = rows(after);
  const unequal = `((from folded) except all (${recent})) union all ((${recent}) except all (from folded))`;
  const counted = await connection.runAndReadAll(`select count(*)::integer from (${unequal})`);
  connection.closeSync();
  instance.closeSync();
  return Number(counted.getRows()[0]?.[0]);
}
