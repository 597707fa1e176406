import {
  COMPARED_AT_ONCE,
  copyTo,
  type EngineLimits,
  named,
  type Query,
  quoted,
  rowsIn,
  withEngine,
} from '../table/engine.ts';
import { TableError } from '../table/table-error.ts';
import { HASHED_BY_KEY, HASHED_KEY, IDENTITY_KEY } from '../table/table-identity.ts';
import { type FeedPlace, OWN_COLUMNS, RESERVED } from './feed-columns.ts';

/**
 * Writes the differences between two tables. Rows are joined by their keys and compared by their values. Rows without a
 * key, and rows with a key that occurs more than once in a table, are compared as a multiset. In SQL, the columns of
 * the table are called c0, c1 and so on, and `place` is the number of a row in its table.
 */

/** The input for a feed. */
export interface FeedInput {
  /** The file of the previous table; `null` = there is none. */
  before: string | null;
  after: string;
  /** The file that is written. */
  feed: string;
  /** Columns of the table that identify a row. */
  key: readonly string[];
  /** Columns that are not compared. */
  ignore: readonly string[];
  /** Whether key and ignored columns are those of the previous feed. Otherwise the feed is a snapshot. */
  asBefore: boolean;
  place: FeedPlace;
}

interface KeyCounts {
  /** Keys of the previous table, and how many are missing now. Rows without a key count as one key each. */
  keys: number;
  gone: number;
  /** Rows of both tables without a key, or with a key that a table repeats: feeds have no updates of them. */
  unmatched: number;
}

export interface WrittenFeed extends KeyCounts {
  /** `snapshot`: the rows of the feed replace all earlier ones. */
  kind: 'changes' | 'snapshot';
  /** `keys` if the keys of both tables were compared, `rows` if they cannot be. */
  of: 'keys' | 'rows';
  /** Rows of the table at which the feed ends. */
  rows: number;
  inserts: number;
  deletes: number;
  updates: number;
}

/**
 * Writes the file of a feed: the changes between two tables whose rows were made in the same way, or all rows of the
 * newer one. The order of columns does not matter. Equal inputs give equal bytes. The file is complete only after this
 * function has returned.
 * @throws TableError; errors of `onProgress`
 */
export function writeFeed(input: FeedInput, limits: EngineLimits): Promise<WrittenFeed> {
  return withEngine(limits, async (query) => {
    const columns = await columnsOf(query, input.after);
    refuseColumns(columns, input);
    const names = [...columns.keys()];
    await query(view('recent', input.after, columns, names));
    const { before, isSame } = await comparableTable(query, input, columns);
    const kind = isSame ? 'changes' : 'snapshot';
    let counts: KeyCounts = { keys: 0, gone: 0, unmatched: 0 };
    let rows = `SELECT 'insert' AS change, * FROM recent`;
    if (before) {
      await query(view('old', before.path, before.columns, names));
      const types = { before: before.columns, after: columns };
      const key = [...new Set(input.key)].map((name) => keyColumn(name, names, types));
      counts = await countKeys(query, key);
      if (isSame) rows = await changedRows(query, planOf(names, key, input.ignore), counts);
    }
    const all = names.map((name, at) => `c${at} AS ${named(name)}`);
    await query(copyTo(input.feed, `SELECT ${ownValues(kind, input.place)}, ${all} FROM (${rows})`));
    const [[total] = []] = await query('SELECT count(*) FROM recent');
    const changes = await countChanges(query, input.feed);
    return { kind, of: before ? 'keys' : 'rows', ...counts, rows: Number(total), ...changes };
  });
}

/** The previous table, if its keys can be compared, and whether its rows were made as those of the newer table. */
async function comparableTable(query: Query, input: FeedInput, columns: Columns) {
  const { before: path, after, key, asBefore } = input;
  if (path === null) return { isSame: false };
  const before = await columnsOf(query, path);
  const identity = await metadataOf(query, path, IDENTITY_KEY);
  const isAlike = identity !== undefined && identity === (await metadataOf(query, after, IDENTITY_KEY));
  const [was, is] = [await hashOf(query, path), await hashOf(query, after)];
  const isComparable = (name: string) => before.has(name) && (isAlike || was(name) === is(name));
  if (!key.every(isComparable)) return { isSame: false };
  return { before: { path, columns: before }, isSame: isAlike && asBefore && areEqual(before, columns) };
}

/** How the values of each column are hashed, as a text; `undefined` if they are not. */
async function hashOf(query: Query, path: string): Promise<(name: string) => string | undefined> {
  const hashed = (await metadataOf(query, path, HASHED_KEY))?.split(' ');
  // Tables of an earlier release do not show by which secret. Their hashes count as different.
  const by = (await metadataOf(query, path, HASHED_BY_KEY)) ?? path;
  return (name) => (hashed?.includes(name) ? by : undefined);
}

/** The DuckDB type of each column, by name. */
type Columns = ReadonlyMap<string, string | null>;

async function columnsOf(query: Query, path: string): Promise<Columns> {
  const described = await query(`DESCRIBE SELECT * FROM ${rowsIn(path)}`);
  return new Map(described.map(([name, type = null]) => [String(name), type]));
}

async function metadataOf(query: Query, path: string, key: string): Promise<string | undefined> {
  const stored = `SELECT decode(value) FROM parquet_kv_metadata(${quoted(path)}) WHERE decode(key) = ${quoted(key)}`;
  return (await query(stored))[0]?.[0] ?? undefined;
}

function areEqual(one: Columns, other: Columns): boolean {
  return one.size === other.size && [...one].every(([name, type]) => other.get(name) === type);
}

/** @throws TableError */
function refuseColumns(columns: Columns, { key, ignore }: FeedInput): void {
  const reserved = RESERVED.find((name) => columns.has(name));
  if (reserved !== undefined)
    throw new TableError(
      `The table has a column "${reserved}", which is the name of a column of the feed itself. \`tables.except\` leaves it out.`,
    );
  const missing = [...key, ...ignore].find((name) => !columns.has(name));
  if (missing !== undefined) throw new TableError(`The table has no column "${missing}", which \`changes\` names.`);
}

function view(name: string, path: string, columns: Columns, names: readonly string[]): string {
  const selected = names.flatMap((column, at) => (columns.has(column) ? [`${named(column)} AS c${at}`] : []));
  return `CREATE TEMP VIEW ${name} AS SELECT ${selected}, row_number() OVER () AS place FROM ${rowsIn(path)}`;
}

/** A key column: its value, and the condition that it has a value. */
interface KeyColumn {
  at: number;
  value: string;
  hasValue: string;
}

function keyColumn(name: string, names: readonly string[], of: { before: Columns; after: Columns }): KeyColumn {
  const at = names.indexOf(name);
  const type = of.after.get(name);
  const retyped = type !== of.before.get(name);
  const value = retyped ? `CAST(c${at} AS VARCHAR)` : `c${at}`;
  return { at, value, hasValue: retyped || type === 'VARCHAR' ? `${value} <> ''` : `${value} IS NOT NULL` };
}

const hasKey = (key: readonly KeyColumn[]) => key.map(({ hasValue }) => hasValue).join(' AND ');

/** Creates the table `odd_keys`: keys that one table lacks, and keys that occur more than once in a table. */
async function countKeys(query: Query, key: readonly KeyColumn[]): Promise<KeyCounts> {
  const ks = key.map((_, at) => `k${at}`);
  const values = key.map(({ value }, at) => `${value} AS k${at}`);
  const hasValue = hasKey(key);
  await query(
    `CREATE TEMP TABLE odd_keys AS SELECT ${ks}, sum(was)::BIGINT AS was, sum(is_now)::BIGINT AS is_now FROM (
       SELECT ${values}, 1 AS was, 0 AS is_now FROM old WHERE ${hasValue}
       UNION ALL SELECT ${values}, 0, 1 FROM recent WHERE ${hasValue})
     GROUP BY ${ks} HAVING sum(was) <> 1 OR sum(is_now) <> 1`,
  );
  await query('CREATE TEMP VIEW repeated AS SELECT * FROM odd_keys WHERE was > 1 OR is_now > 1');
  const [counted = []] = await query(
    `SELECT (SELECT count(*) FROM old WHERE ${hasValue}) - (SELECT coalesce(sum(was - 1), 0) FROM repeated WHERE was > 0),
       (SELECT count(*) FROM odd_keys WHERE is_now = 0), (SELECT coalesce(sum(was + is_now), 0) FROM repeated),
       (SELECT count(*) FROM old WHERE (${hasValue}) IS NOT TRUE), (SELECT count(*) FROM recent WHERE (${hasValue}) IS NOT TRUE)`,
  );
  const [keys = 0, gone = 0, repeated = 0, keylessBefore = 0, keyless = 0] = counted.map(Number);
  return {
    keys: keys + keylessBefore,
    gone: gone + Math.max(0, keylessBefore - keyless),
    unmatched: repeated + keylessBefore + keyless,
  };
}

/** The SQL names of the columns besides the key: compared columns, and ignored ones. */
interface Plan {
  key: readonly KeyColumn[];
  rest: string[];
  ignored: string[];
}

function planOf(names: readonly string[], key: readonly KeyColumn[], ignore: readonly string[]): Plan {
  const others = names.map((name, at) => ({ name, at })).filter(({ at }) => !key.some((column) => column.at === at));
  const called = (ignored: boolean) =>
    others.flatMap(({ name, at }) => (ignore.includes(name) === ignored ? [`c${at}`] : []));
  return { key, rest: called(false), ignored: called(true) };
}

/** A join with fewer rows fits in the memory of every function, and its result keeps the order of the table. */
const MOST_UNSORTED = 1_000_000;

/**
 * The changed rows in SQL: rows of the previous table in its order, then rows of the newer table. Their places are
 * computed first, so that no join or sort holds whole rows.
 */
async function changedRows(query: Query, plan: Plan, { unmatched }: KeyCounts): Promise<string> {
  const { key, rest } = plan;
  const keyIs = (column: (at: number) => string) =>
    key.map(({ at }, place) => `${column(at)} = k${place}`).join(' AND ');
  const byKey = keyIs((at) => `c${at}`);
  const matched = (table: string) =>
    `(SELECT * FROM ${table}${unmatched > 0 ? ` ANTI JOIN repeated ON ${byKey}` : ''} WHERE ${hasKey(key)})`;
  await query('CREATE TEMP TABLE updated (was_at BIGINT, is_at BIGINT)');
  for (let at = 0; at < rest.length; at += COMPARED_AT_ONCE) {
    const some = rest.slice(at, at + COMPARED_AT_ONCE);
    await query(
      `INSERT INTO updated SELECT o.place, r.place FROM ${matched('old')} o JOIN ${matched('recent')} r
         ON ${key.map((column) => `o.c${column.at} = r.c${column.at}`).join(' AND ')}
       WHERE ${some.map((column) => `o.${column} IS DISTINCT FROM r.${column}`).join(' OR ')}`,
    );
  }
  if (unmatched > 0) await compareBags(query, plan, byKey);
  const changedIn = (table: string, side: number, change: string, [own, other]: string[], [at, update]: string[]) =>
    `CREATE TEMP TABLE changed_${table} AS
       SELECT place, '${change}' AS change FROM ${table} SEMI JOIN (FROM odd_keys WHERE ${own} = 1 AND ${other} = 0) ON ${byKey}
       UNION ALL SELECT DISTINCT ${at}, '${update}' FROM updated
       ${unmatched > 0 ? `UNION ALL SELECT place, '${change}' FROM uneven_rows WHERE side = ${side}` : ''}`;
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
async function compareBags(query: Query, { key, rest, ignored }: Plan, byKey: string): Promise<void> {
  const inBag = (table: string, side: number) =>
    `SELECT *, ${side} AS side FROM ${table} WHERE (${hasKey(key)}) IS NOT TRUE
     UNION ALL SELECT *, ${side} FROM ${table} SEMI JOIN repeated ON ${byKey}`;
  const compared = [...key.map(({ at }) => `c${at}`), ...rest];
  const equal = compared.map((column) => `bags.${column} IS NOT DISTINCT FROM uneven.${column}`).join(' AND ');
  await query(`CREATE TEMP VIEW bags AS ${inBag('old', 1)} UNION ALL ${inBag('recent', -1)}`);
  await query(
    `CREATE TEMP TABLE uneven AS SELECT ${compared}, sum(side)::BIGINT AS surplus, row_number() OVER () AS id
     FROM bags GROUP BY ${compared} HAVING sum(side) <> 0`,
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
function ownValues(kind: WrittenFeed['kind'], { sequence, from, to }: FeedPlace): string {
  const text = (value: string | undefined) => (value === undefined ? 'NULL' : quoted(value));
  const types = { text: 'VARCHAR', integer: 'BIGINT', date: 'DATE' };
  const values = ['change', sequence, text(kind), text(from?.run), text(to.run), text(from?.date), text(to.date)];
  return OWN_COLUMNS.map(({ name, type }, at) => `CAST(${values[at]} AS ${types[type]}) AS ${named(name)}`).join(', ');
}

/** Types of changes are those of Delta's change data feed (https://docs.delta.io/latest/delta-change-data-feed.html). */
async function countChanges(query: Query, feed: string): Promise<Pick<WrittenFeed, 'inserts' | 'deletes' | 'updates'>> {
  const counted = await query(`SELECT _change_type, count(*) FROM ${rowsIn(feed)} GROUP BY ALL`);
  const {
    insert = 0,
    delete: deletes = 0,
    update_postimage: updates = 0,
  } = Object.fromEntries(counted.map(([type, count]) => [type, Number(count)]));
  return { inserts: insert, deletes, updates };
}
