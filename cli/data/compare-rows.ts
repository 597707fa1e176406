import { join } from 'node:path';
import { named, type Query, quoted, rowsIn } from '../../core/table/engine.ts';

/** Compares the rows of two files by a key. Compares part by part, because a join of whole files exceeds the buffers. */

/** A value for each of two files. */
export interface Both<T> {
  before: T;
  after: T;
}

export interface Rows {
  /** The rows of a file, as an SQL table expression. */
  rows: string;
  /** The SQL names of the columns: the key first, then the columns to compare. */
  columns: string[];
  /** The size of the rows as text, which may be estimated. */
  textBytes: number;
}

/** How the rows of two files differ, by a key. If rows share a key, only the first one counts. */
export type RowChanges = Awaited<ReturnType<typeof compareRows>>;

/** DuckDB joins parts of this size in its buffers. */
const PART_BYTES = 25e6;
/** The number of files that DuckDB keeps open. With more parts, it would write several small files for each part. */
const MOST_PARTS = 100;
/** Cells that DuckDB collects before it writes them to the files of their parts. */
const CELLS_IN_MEMORY = 400_000;

/**
 * Counts rows that were added, removed and changed.
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
  const textBytes = Math.max(sides.before.textBytes, sides.after.textBytes);
  const parts = Math.min(MOST_PARTS, Math.ceil(textBytes / partBytes) || 1);
  await query(`SET partitioned_write_flush_threshold = ${Math.ceil(CELLS_IN_MEMORY / (names.length + 1))}`);
  const before = await split(query, sides.before, join(folder, 'before'), parts);
  const after = await split(query, sides.after, join(folder, 'after'), parts);
  await query('CREATE TEMP TABLE added (k VARCHAR, place BIGINT)');
  await query('CREATE TEMP TABLE removed (k VARCHAR, place BIGINT)');
  await query('CREATE TEMP TABLE changed (k VARCHAR, place BIGINT, columns BIGINT[])');
  await query('CREATE TEMP TABLE counts (kept INT, repeated_before INT, repeated INT, empty_before INT, empty INT)');
  for (let part = 0; part < parts; part += 1) await comparePart(query, before(part), after(part));
  const [counts = []] = await query(
    `SELECT (SELECT count(*) FROM added), (SELECT count(*) FROM removed), (SELECT count(*) FROM changed), sum(COLUMNS(*))
     FROM counts`,
  );
  const [added = 0, removed = 0, changed = 0, kept = 0, repeatedBefore, repeated, emptyBefore, empty] =
    counts.map(Number);
  const changes = await query(
    'SELECT nth, count(*) FROM (SELECT unnest(columns) AS nth FROM changed) GROUP BY nth ORDER BY nth',
  );
  const keysOf = async (list: string) =>
    (await query(`SELECT k FROM ${list} ORDER BY place`)).map(([key]) => key ?? '');
  return {
    keys: {
      ...{ column, added, removed, kept },
      // Rows that repeat an earlier key of their file, or have no key, are not compared.
      repeated: { before: repeatedBefore ?? 0, after: repeated ?? 0 },
      empty: { before: emptyBefore ?? 0, after: empty ?? 0 },
    },
    /** Kept keys whose rows differ in a column that both files have, and the number of rows for each such column. */
    changed: {
      rows: changed,
      columns: Object.fromEntries(changes.map(([nth, rows]) => [names[Number(nth) - 1] ?? '', Number(rows)])),
    },
    ...(showKeys && {
      addedKeys: await keysOf('added'),
      removedKeys: await keysOf('removed'),
      changedKeys: await keysOf('changed'),
    }),
  };
}

/** The separator between two cells. Its first character is escaped inside a cell. */
const SEPARATOR = 'chr(31) || chr(30)';
const ESCAPED = 'chr(31) || chr(29)';

/**
 * Writes the rows of a file to Parquet files, one for each part of the keys.
 * @returns the rows of a part as SQL: `k` is the key, `place` the number of the row, `cells` the text of its other cells
 */
async function split(query: Query, { rows, columns }: Rows, folder: string, parts: number) {
  const [key, ...texts] = columns.map((name) => `coalesce(CAST(${named(name)} AS VARCHAR), '')`);
  const cells = texts.map((text) => `replace(${text}, chr(31), ${ESCAPED})`);
  // A part without rows would have no file, so every part gets one additional row without a place.
  await query(
    `COPY (SELECT *, CAST(hash(k) % ${parts} AS BIGINT) AS part
           FROM (SELECT row_number() OVER () AS place, ${key} AS k, concat_ws(${[SEPARATOR, "''", ...cells]}) AS cells FROM ${rows})
           UNION ALL SELECT NULL, NULL, NULL, range FROM range(${parts}))
     TO ${quoted(folder)} (FORMAT parquet, PARTITION_BY (part), ROW_GROUP_SIZE 2048)`,
  );
  return (part: number) => `(FROM ${rowsIn(join(folder, `part=${part}`, '*.parquet'))} WHERE place IS NOT NULL)`;
}

/** Adds the changes of a part to the tables. */
async function comparePart(query: Query, before: string, after: string): Promise<void> {
  for (const [name, rows] of Object.entries({ before, after }))
    await query(
      `CREATE OR REPLACE TEMP TABLE ${name}_keys AS
       SELECT k, min(place) AS place, count(*) AS repeats FROM ${rows} WHERE k <> '' GROUP BY k`,
    );
  await query('INSERT INTO added SELECT k, place FROM after_keys ANTI JOIN before_keys USING (k)');
  await query('INSERT INTO removed SELECT k, place FROM before_keys ANTI JOIN after_keys USING (k)');
  const repeated = (name: string) => `(SELECT coalesce(sum(repeats - 1), 0) FROM ${name}_keys)`;
  const empty = (rows: string) => `(SELECT count(*) FROM ${rows} WHERE k = '')`;
  await query(
    `INSERT INTO counts SELECT (SELECT count(*) FROM before_keys JOIN after_keys USING (k)),
       ${repeated('before')}, ${repeated('after')}, ${empty(before)}, ${empty(after)}`,
  );
  await query(
    `INSERT INTO changed SELECT k, place, list_filter(range(1, len(now)), lambda nth: was[nth + 1] <> now[nth + 1]) FROM (
       SELECT k, r.place, string_split(o.cells, ${SEPARATOR}) AS was, string_split(r.cells, ${SEPARATOR}) AS now
       FROM (FROM ${before} SEMI JOIN before_keys USING (place)) o JOIN (FROM ${after} SEMI JOIN after_keys USING (place)) r
       USING (k) WHERE o.cells <> r.cells)`,
  );
}
