import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPARED_AT_ONCE, named, type Query, quoted, rowsIn } from '../../core/table/engine.ts';

/** Compares the rows of two files by a key, in parts, because a join of whole files does not fit in the buffers. */

/** A value for each of two files. */
export interface Both<T> {
  before: T;
  after: T;
}

/** The rows of a file. */
export interface Rows {
  /** As SQL. */
  rows: string;
  /** The SQL names of the columns: the key first, then the columns to compare. */
  columns: string[];
  /** The size of the rows as text, which may be estimated. */
  textBytes: number;
}

/** How the rows of two files differ, by a key. If rows share a key, only the first one counts. */
export type RowChanges = Awaited<ReturnType<typeof compareRows>>;

/** DuckDB joins parts of this size in its buffers. */
const PART_BYTES = 100e6;

/**
 * Counts rows that came, went and changed: some columns at a time, and of these a part of the keys at a time.
 * @param names of the key and of the columns to compare
 * @param folder on the disk, with space for the rows of both files
 * @param partBytes the text of the rows to compare at once
 * @throws EngineError
 */
export async function compareRows(
  query: Query,
  sides: Both<Rows>,
  [column = '', ...names]: readonly string[],
  { folder, showKeys, partBytes = PART_BYTES }: { folder: string; showKeys: boolean; partBytes?: number },
) {
  for (const list of ['added', 'removed', 'changed'])
    await query(`CREATE TEMP TABLE ${list} (k VARCHAR, place BIGINT)`);
  const changes: [name: string, rows: number][] = [];
  let keys: KeyChanges | undefined;
  const whole = Math.max(sides.before.textBytes, sides.after.textBytes) / partBytes;
  const atOnce = columnsAtOnce(names.length + 1, whole);
  for (let from = 0; from === 0 || from < names.length; from += atOnce) {
    const some = names.slice(from, from + atOnce);
    const width = some.length;
    const count = Math.ceil((whole * (width + 1)) / (names.length + 1)) || 1;
    const parts = await inParts(query, sides, { folder, from, width, count }, (rows) =>
      comparePart(query, rows, width),
    );
    const total = (of: (part: PartChanges) => number) => parts.reduce((sum, part) => sum + of(part), 0);
    const kept = total((part) => part.kept);
    keys ??= {
      ...{
        column,
        added: total(({ after }) => after.keys) - kept,
        removed: total(({ before }) => before.keys) - kept,
        kept,
      },
      repeated: { before: total(({ before }) => before.repeated), after: total(({ after }) => after.repeated) },
      empty: { before: total(({ before }) => before.empty), after: total(({ after }) => after.empty) },
    };
    changes.push(...some.map((name, at): [string, number] => [name, total((part) => part.changes[at] ?? 0)]));
  }
  const [[changed] = []] = await query('SELECT count(DISTINCT place) FROM changed');
  const keysOf = async (list: string) =>
    (await query(`SELECT DISTINCT k, place FROM ${list} ORDER BY place`)).map(([key]) => key ?? '');
  return {
    keys: keys as KeyChanges,
    /** Kept keys whose rows differ in a column that both files have, and the number of rows for each such column. */
    changed: { rows: Number(changed), columns: Object.fromEntries(changes.filter(([, rows]) => rows > 0)) },
    ...(showKeys && {
      addedKeys: await keysOf('added'),
      removedKeys: await keysOf('removed'),
      changedKeys: await keysOf('changed'),
    }),
  };
}

interface KeyChanges {
  /** The name of the key column. */
  column: string;
  added: number;
  removed: number;
  kept: number;
  /** Rows that repeat an earlier key of their file. They are not compared. */
  repeated: Both<number>;
  /** Rows without a key. They are not compared. */
  empty: Both<number>;
}

type PartChanges = Awaited<ReturnType<typeof comparePart>>;

/** Counts the keys of a part and the changes of each column, and adds to the tables `added`, `removed` and `changed`. */
async function comparePart(query: Query, rows: Both<string>, width: number) {
  const before = await readKeys(query, 'before', rows.before);
  const after = await readKeys(query, 'after', rows.after);
  const kept = Number((await query('SELECT count(*) FROM before_keys JOIN after_keys USING (k)'))[0]?.[0]);
  await query('INSERT INTO added SELECT k, place FROM after_keys ANTI JOIN before_keys USING (k)');
  await query('INSERT INTO removed SELECT k, place FROM before_keys ANTI JOIN after_keys USING (k)');
  if (width === 0) return { before, after, kept, changes: [] };
  const differs = Array.from({ length: width }, (_, at) => `o.c${at} <> r.c${at}`);
  await query(
    `CREATE OR REPLACE TEMP TABLE differing AS SELECT k, r.place, ${differs.map((differ, at) => `${differ} AS d${at}`)}
     FROM (${before.first}) o JOIN (${after.first}) r USING (k) WHERE ${differs.join(' OR ')}`,
  );
  await query('INSERT INTO changed SELECT k, place FROM differing');
  const [counts = []] = await query(`SELECT ${differs.map((_, at) => `count(*) FILTER (d${at})`)} FROM differing`);
  return { before, after, kept, changes: counts.map(Number) };
}

/** Creates a table of the keys of a part. @returns counts, and the first row of each key as SQL */
async function readKeys(query: Query, name: keyof Both<Rows>, rows: string) {
  await query(
    `CREATE OR REPLACE TEMP TABLE ${name}_keys AS
     SELECT k, min(place) AS place, count(*) AS repeats FROM ${rows} WHERE k <> '' GROUP BY k`,
  );
  const [counts = []] = await query(
    `SELECT count(*), coalesce(sum(repeats - 1), 0), (SELECT count(*) FROM ${rows} WHERE k = '') FROM ${name}_keys`,
  );
  const [keys = 0, repeated = 0, empty = 0] = counts.map(Number);
  const first = repeated > 0 ? `FROM ${rows} SEMI JOIN ${name}_keys USING (k, place)` : `FROM ${rows} WHERE k <> ''`;
  return { keys, repeated, empty, first };
}

/** DuckDB keeps so many files open. For more parts, it would write several small files each. */
const MOST_PARTS = 100;
/** DuckDB takes about 32 kB of memory for each column of each part that it writes. */
const MOST_COLUMNS_OF_PARTS = 1500;

/** How many columns to compare at a time. @param whole the number of parts that all columns together would have */
function columnsAtOnce(columns: number, whole: number): number {
  const inMemory = Math.sqrt((MOST_COLUMNS_OF_PARTS * columns) / whole);
  return Math.max(1, Math.floor(Math.min(COMPARED_AT_ONCE, inMemory, (MOST_PARTS * columns) / whole)));
}

/** Rows that DuckDB collects before it writes them to the files of their parts. */
const ROWS_IN_MEMORY = 20_000;

/**
 * Writes the key and some columns of both files to Parquet files, one for each part of the keys, and passes the rows of
 * each part to `use` as SQL: `k` is the key, `place` the number of the row, and `c0`, `c1` and so on are the columns.
 */
async function inParts<T>(
  query: Query,
  sides: Both<Rows>,
  { folder, from, width, count }: { folder: string; from: number; width: number; count: number },
  use: (rows: Both<string>) => Promise<T>,
): Promise<T[]> {
  const places = Array.from({ length: width }, (_, at) => at);
  await query(`SET partitioned_write_flush_threshold = ${ROWS_IN_MEMORY}`);
  const split = async ({ rows, columns: [key = '', ...columns] }: Rows, path: string) => {
    const text = (name = '') => `coalesce(CAST(${named(name)} AS VARCHAR), '') AS`;
    const selected = [`${text(key)} k`, ...places.map((at) => `${text(columns[from + at])} c${at}`)];
    // A part without rows would have no file: each has a row without a place.
    const marks = ['NULL', 'NULL', ...places.map(() => 'NULL'), 'range'];
    await query(
      `COPY (SELECT *, CAST(hash(k) % ${count} AS BIGINT) AS part
             FROM (SELECT row_number() OVER () AS place, ${selected} FROM ${rows})
             UNION ALL SELECT ${marks} FROM range(${count}))
       TO ${quoted(path)} (FORMAT parquet, PARTITION_BY (part), ROW_GROUP_SIZE 8192)`,
    );
    return (part: number) => `(FROM ${rowsIn(join(path, `part=${part}`, '*.parquet'))} WHERE place IS NOT NULL)`;
  };
  const paths = { before: join(folder, 'before'), after: join(folder, 'after') };
  const before = await split(sides.before, paths.before);
  const after = await split(sides.after, paths.after);
  const found: T[] = [];
  for (let part = 0; part < count; part += 1) found.push(await use({ before: before(part), after: after(part) }));
  for (const path of Object.values(paths)) await rm(path, { recursive: true });
  return found;
}
