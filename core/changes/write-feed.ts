import { isDeepStrictEqual } from 'node:util';
import { copyTo, type EngineLimits, named, type Query, quoted, rowsIn, withEngine } from '../table/engine.ts';
import { TableError } from '../table/table-error.ts';
import { readIdentity } from '../table/table-identity.ts';
import type { FeedDraft, FeedEnd, FeedPair } from './chain/head.ts';
import { OWN_COLUMNS, RESERVED } from './feed-columns.ts';

/**
 * Writes the differences between two tables. Rows are joined by their keys and compared by their values. Rows without a
 * key, and rows with a key that occurs more than once in a table, are compared as a multiset.
 */

type End = Pick<FeedEnd, 'run' | 'date' | 'key' | 'ignore'>;

/** The input for a feed: its place in the chain, and the files. */
export interface FeedInput extends Pick<FeedDraft, 'sequence'> {
  from: End | null;
  to: End;
  /** The file of the previous table; `null` = there is none. */
  before: string | null;
  after: string;
  /** The file that is written. */
  feed: string;
  /** Whether to write all rows, even if the tables could be compared. */
  asSnapshot: boolean;
}

type Counts = FeedPair['counts'];
type KeyCounts = Pick<Counts, 'keys' | 'gone' | 'unmatched'>;

export interface WrittenFeed extends Counts, Pick<FeedPair, 'kind'> {
  /** `keys` if the keys of both tables were compared, `rows` if they cannot be. */
  of: 'keys' | 'rows';
}

/**
 * Writes the file of a feed: the changes between two tables whose rows were made in the same way, or all rows of the
 * newer one. The order of columns does not matter. Equal inputs give equal bytes. The file is complete only after this
 * function has returned.
 * @throws TableError; errors of `onProgress`
 */
export function writeFeed(input: FeedInput, limits: EngineLimits): Promise<WrittenFeed> {
  const { from, to, asSnapshot } = input;
  return withEngine(limits, async (query) => {
    const after = await readTable(query, input.after);
    refuseColumns(after.columns, to);
    const names = [...after.columns.keys()];
    const before = input.before === null ? undefined : await readTable(query, input.before);
    const { old, isSame } = compareFacts(before, after, to);
    const asBefore = !asSnapshot && isDeepStrictEqual([from?.key, from?.ignore], [to.key, to.ignore]);
    const kind = isSame && asBefore ? 'changes' : 'snapshot';
    const isRetyped = (name: string) => old !== undefined && old.columns.get(name) !== after.columns.get(name);
    const key = [...new Set(to.key)].map((name) => ({ name, asText: isRetyped(name) }));
    await query(view('recent', after, names, key));
    let counts: KeyCounts = { keys: 0, gone: 0, unmatched: 0 };
    let rows = `SELECT 'insert' AS change, * FROM recent`;
    if (old) {
      await query(view('old', old, names, key));
      const keys = key.map((_, at) => `k${at}`).join(', ');
      counts = await countKeys(query, keys);
      if (kind === 'changes') rows = await changedRows(query, keys, columnsOf(names, to), counts);
    }
    const all = names.map((name, at) => `c${at} AS ${named(name)}`);
    await query(copyTo(input.feed, `SELECT ${ownValues(kind, input)}, ${all} FROM (${rows})`));
    // Types of changes are those of Delta's change data feed (https://docs.delta.io/latest/delta-change-data-feed.html).
    const changes = ['insert', 'delete', 'update_postimage'].map(
      (type) => `count(*) FILTER (_change_type = '${type}')`,
    );
    const [counted = []] = await query(`SELECT (SELECT count(*) FROM recent), ${changes} FROM ${rowsIn(input.feed)}`);
    const [total = 0, inserts = 0, deletes = 0, updates = 0] = counted.map(Number);
    return { kind, of: old ? 'keys' : 'rows', ...counts, rows: total, inserts, deletes, updates };
  });
}

type Table = Awaited<ReturnType<typeof readTable>>;

/** A table on the disk, with the DuckDB type of each column and how its rows were made. */
async function readTable(query: Query, path: string) {
  const described = await query(`DESCRIBE SELECT * FROM ${rowsIn(path)}`);
  const columns = new Map(described.map(([name, type = null]) => [String(name), type]));
  return { path, columns, ...(await readIdentity(query, path)) };
}

/** The previous table, if its keys can be compared, and whether its rows were made in the same way. */
function compareFacts(before: Table | undefined, after: Table, { key }: End) {
  if (!before) return { isSame: false };
  const isAlike = before.identity !== undefined && before.identity === after.identity;
  const isComparable = (name: string) =>
    before.columns.has(name) && (isAlike || before.hashOf(name) === after.hashOf(name));
  const isSame = isAlike && isDeepStrictEqual(before.columns, after.columns);
  return { isSame, ...(key.every(isComparable) && { old: before }) };
}

/** @throws TableError */
function refuseColumns(columns: Table['columns'], { key, ignore }: End): void {
  const reserved = RESERVED.find((name) => columns.has(name));
  if (reserved !== undefined)
    throw new TableError(
      `The table has a column "${reserved}", which is also the name of a column of the feed. Leave it out with \`tables.except\`.`,
    );
  const missing = [...key, ...ignore].find((name) => !columns.has(name));
  if (missing !== undefined) throw new TableError(`The table has no column "${missing}", which \`changes\` names.`);
}

/**
 * Creates a view of a table. Its columns are c0, c1 and so on, in the order of `names`, and the columns of its key are
 * k0, k1 and so on. A row without a key has a `has_key` that is not true. `place` is the number of a row in its table.
 */
function view(
  name: string,
  { path, columns }: Table,
  names: readonly string[],
  key: readonly { name: string; asText: boolean }[],
): string {
  const all = names.flatMap((column, at) => (columns.has(column) ? [`${named(column)} AS c${at}`] : []));
  const keys = key.map(
    (column, at) => `${column.asText ? `CAST(${named(column.name)} AS VARCHAR)` : named(column.name)} AS k${at}`,
  );
  const filled = key.map((column, at) =>
    column.asText || columns.get(column.name) === 'VARCHAR' ? `k${at} <> ''` : `k${at} IS NOT NULL`,
  );
  return `CREATE TEMP VIEW ${name} AS SELECT *, ${filled.join(' AND ')} AS has_key
    FROM (SELECT ${all}, ${keys}, row_number() OVER () AS place FROM ${rowsIn(path)})`;
}

/** Creates the table `odd_keys`: keys that one table lacks, and keys that occur more than once in a table. */
async function countKeys(query: Query, keys: string): Promise<KeyCounts> {
  await query(
    `CREATE TEMP TABLE odd_keys AS SELECT ${keys}, count(was) AS was, count(is_now) AS is_now FROM (
       SELECT ${keys}, 1 AS was, NULL AS is_now FROM old WHERE has_key
       UNION ALL SELECT ${keys}, NULL, 1 FROM recent WHERE has_key)
     GROUP BY ${keys} HAVING count(was) <> 1 OR count(is_now) <> 1`,
  );
  await query('CREATE TEMP VIEW repeated AS SELECT * FROM odd_keys WHERE was > 1 OR is_now > 1');
  const [counted = []] = await query(
    `SELECT (SELECT count(*) FROM old WHERE has_key) - (SELECT coalesce(sum(was - 1), 0) FROM repeated WHERE was > 0),
       (SELECT count(*) FROM odd_keys WHERE is_now = 0), (SELECT coalesce(sum(was + is_now), 0) FROM repeated),
       (SELECT count(*) FROM old WHERE has_key IS NOT TRUE), (SELECT count(*) FROM recent WHERE has_key IS NOT TRUE)`,
  );
  const [keyed = 0, gone = 0, repeated = 0, keylessBefore = 0, keyless = 0] = counted.map(Number);
  return {
    keys: keyed + keylessBefore,
    gone: gone + Math.max(0, keylessBefore - keyless),
    unmatched: repeated + keylessBefore + keyless,
  };
}

/** The SQL names of the columns of a table: those of its key, compared ones, and ignored ones. */
function columnsOf(names: readonly string[], { key, ignore }: End) {
  const which = (is: (name: string) => boolean) => names.flatMap((name, at) => (is(name) ? [`c${at}`] : []));
  return {
    ofKey: which((name) => key.includes(name)),
    compared: which((name) => !key.includes(name) && !ignore.includes(name)),
    ignored: which((name) => !key.includes(name) && ignore.includes(name)),
  };
}
type FeedColumns = ReturnType<typeof columnsOf>;

/** Columns that one join may compare. A join needs memory for each row and column, so wide rows need several joins. */
const COMPARED_AT_ONCE = 64;
/** A join of more cells moves rows to the disk, which takes longer than several joins of fewer columns. */
const CELLS_IN_MEMORY = 36_000_000;
const FEWEST_AT_ONCE = 4;

/** A join with fewer rows fits in the memory of every function, and its result keeps the order of the table. */
const MOST_UNSORTED = 1_000_000;

/**
 * The changed rows in SQL: rows of the previous table in its order, then rows of the newer table. The query computes
 * their places first, so that no join or sort holds whole rows.
 */
async function changedRows(query: Query, keys: string, columns: FeedColumns, counts: KeyCounts): Promise<string> {
  const hasBags = counts.unmatched > 0;
  const matched = (table: string) =>
    `(SELECT * FROM ${table}${hasBags ? ` ANTI JOIN repeated USING (${keys})` : ''} WHERE has_key)`;
  await query('CREATE TEMP TABLE updated (was_at BIGINT, is_at BIGINT)');
  const fitting = Math.floor(CELLS_IN_MEMORY / (counts.keys + 1));
  const atOnce = Math.min(COMPARED_AT_ONCE, Math.max(FEWEST_AT_ONCE, fitting));
  for (let at = 0; at < columns.compared.length; at += atOnce) {
    const some = columns.compared.slice(at, at + atOnce);
    await query(
      `INSERT INTO updated SELECT o.place, r.place FROM ${matched('old')} o JOIN ${matched('recent')} r USING (${keys})
       WHERE ${some.map((column) => `o.${column} IS DISTINCT FROM r.${column}`).join(' OR ')}`,
    );
  }
  if (hasBags) await compareBags(query, keys, columns);
  const changedIn = (table: string, side: number, change: string, [own, other]: string[], [at, update]: string[]) =>
    `CREATE TEMP TABLE changed_${table} AS
       SELECT place, '${change}' AS change
       FROM ${table} SEMI JOIN (FROM odd_keys WHERE ${own} = 1 AND ${other} = 0) USING (${keys})
       UNION ALL SELECT DISTINCT ${at}, '${update}' FROM updated
       ${hasBags ? `UNION ALL SELECT place, '${change}' FROM uneven_rows WHERE side = ${side}` : ''}`;
  await query(changedIn('old', 1, 'delete', ['was', 'is_now'], ['was_at', 'update_preimage']));
  await query(changedIn('recent', -1, 'insert', ['is_now', 'was'], ['is_at', 'update_postimage']));
  const [[count] = []] = await query(
    'SELECT (SELECT count(*) FROM changed_old) + (SELECT count(*) FROM changed_recent)',
  );
  // DuckDB reads the table row by row and keeps the changed places in memory.
  await query(`SET disabled_optimizers = 'join_order,build_side_probe_side'`);
  const order = Number(count) < MOST_UNSORTED ? '' : 'ORDER BY is_new, place';
  const rowsOf = (table: string, isNew: boolean) =>
    `SELECT *, ${isNew} AS is_new FROM ${table} JOIN changed_${table} USING (place)`;
  return `SELECT * FROM (${rowsOf('old', false)} UNION ALL ${rowsOf('recent', true)}) ${order}`;
}

/** Creates the table `uneven_rows`: places of unmatched rows that occur more often in one table than in the other. */
async function compareBags(query: Query, keys: string, { ofKey, compared, ignored }: FeedColumns): Promise<void> {
  const inBag = (table: string, side: number) =>
    `SELECT *, ${side} AS side FROM ${table} WHERE has_key IS NOT TRUE
     UNION ALL SELECT *, ${side} FROM ${table} SEMI JOIN repeated USING (${keys})`;
  const values = [...ofKey, ...compared];
  const equal = values.map((column) => `bags.${column} IS NOT DISTINCT FROM uneven.${column}`).join(' AND ');
  await query(`CREATE TEMP VIEW bags AS ${inBag('old', 1)} UNION ALL ${inBag('recent', -1)}`);
  await query(
    `CREATE TEMP TABLE uneven AS SELECT ${values}, sum(side)::BIGINT AS surplus, row_number() OVER () AS id
     FROM bags GROUP BY ${values} HAVING sum(side) <> 0`,
  );
  const order = [...ignored, 'place'];
  await query(
    `CREATE TEMP TABLE uneven_rows AS SELECT place, side FROM (
       SELECT place, side, surplus, row_number() OVER (PARTITION BY id ORDER BY ${order}) AS nth
       FROM bags JOIN uneven ON ${equal} AND side = sign(surplus))
     WHERE nth <= abs(surplus)`,
  );
}

/** The values of a feed's own columns, in SQL. */
function ownValues(kind: FeedPair['kind'], { sequence, from, to }: FeedInput): string {
  const text = (value: string | undefined) => (value === undefined ? 'NULL' : quoted(value));
  const types = { text: 'VARCHAR', integer: 'BIGINT', date: 'DATE' };
  const values = ['change', sequence, text(kind), text(from?.run), text(to.run), text(from?.date), text(to.date)];
  return OWN_COLUMNS.map(({ name, type }, at) => `CAST(${values[at]} AS ${types[type]}) AS ${named(name)}`).join(', ');
}
