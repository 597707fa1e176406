import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { openDuckDb } from '../../../core/table/support.ts';

type DuckDb = Awaited<ReturnType<typeof openDuckDb>>;

/**
 * Rows that only a SQLite copy of leads or only a table has.
 * @param ignored columns to ignore
 */
export async function differencesOfCopy(duckdb: DuckDb, copy: string, table: string, ignored: readonly string[]) {
  const source = `read_parquet('${table.replaceAll("'", "''")}', hive_partitioning = false)`;
  const columns = (await duckdb.rows(`DESCRIBE SELECT * FROM ${source}`)).map(([name, type]) => ({ name, type }));
  const rows = rowsOf(copy);
  const texts = join(copy, '..', 'copied.jsonl');
  writeFileSync(texts, rows.map((row) => JSON.stringify(row)).join('\n'));
  const known = columns.filter(({ name }) => !ignored.includes(String(name)));
  const fields = columns.map(({ name }) => `"${name}": 'VARCHAR'`).join(', ');
  const typed = known.map(({ name, type }) => `CAST("${name}" AS ${type}) AS "${name}"`).join(', ');
  const names = known.map(({ name }) => `"${name}"`).join(', ');
  const copied = `SELECT ${typed} FROM read_json('${texts}', format = 'newline_delimited', columns = {${fields}})`;
  return duckdb.differences(copied, `SELECT ${names} FROM ${source}`);
}

/** All rows with their values as texts. */
function rowsOf(copy: string): Record<string, string | null>[] {
  const database = new DatabaseSync(copy, { readOnly: true });
  try {
    const rows = database.prepare('SELECT * FROM leads');
    rows.setReadBigInts(true);
    return rows
      .all()
      .map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])),
      );
  } finally {
    database.close();
  }
}

/**
 * Rows that only the view `history` of a date or only its table has. As texts, because types may have changed since.
 */
export async function differencesOfHistory(duckdb: DuckDb, date: string, table: string) {
  const source = `read_parquet('${table.replaceAll("'", "''")}', hive_partitioning = false)`;
  const columns = await duckdb.rows(`DESCRIBE SELECT * EXCLUDE (updatedat) FROM ${source}`);
  // 0 and -0 are equal but have different texts.
  const value = (name: unknown, type: unknown) => (type === 'DOUBLE' ? `"${name}" + 0` : `"${name}"`);
  const texts = columns.map(([name, type]) => `CAST(${value(name, type)} AS VARCHAR) AS "${name}"`).join(', ');
  const valid = `valid_from <= DATE '${date}' AND (valid_to IS NULL OR valid_to > DATE '${date}')`;
  return duckdb.differences(
    `SELECT ${texts} FROM history, range(_copies::BIGINT) WHERE ${valid}`,
    `SELECT ${texts} FROM ${source}`,
  );
}
