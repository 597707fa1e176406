import { dirname, join } from 'node:path';
import { writeFeed } from '../../../core/changes/write-feed.ts';
import { type EngineLimits, inFolder, named, stage } from '../../../core/table/engine.ts';
import { limitsIn, openDuckDb, rowsIn, type Texts } from '../table/support.ts';

/** A row of a table of texts, and its columns. */
export type Row = (string | null)[];
export const NAMES = ['a', 'b', 'c', 'd'];

interface FeedCase {
  before: string | null;
  after: string;
  key?: readonly string[];
  ignore?: readonly string[];
}

/** Writes the feed between two tables. */
export function putFeed(
  feed: string,
  { before, after, key = ['id'], ignore = [] }: FeedCase,
  limits: Partial<EngineLimits> = {},
) {
  const columns = { key: [...key], ignore: [...ignore] };
  const from = before === null ? null : { run: 'leads-1', date: '2026-11-21', ...columns };
  const place = { sequence: 7, from, to: { run: 'leads-2', date: '2026-11-22', ...columns }, asSnapshot: false };
  return writeFeed({ before, after, feed, ...place }, { ...limitsIn(dirname(feed)), ...limits });
}

/** Rows of `one` that `other` lacks, with repetitions, without these columns. */
function without(one: readonly Texts[], other: readonly Texts[], ignored: readonly string[] = []): string[] {
  const left = new Map<string, number>();
  for (const row of other) left.set(keyOf(row, ignored), (left.get(keyOf(row, ignored)) ?? 0) + 1);
  return one
    .map((row) => keyOf(row, ignored))
    .filter((row) => {
      const count = left.get(row) ?? 0;
      left.set(row, count - 1);
      return count <= 0;
    })
    .sort();
}

function keyOf(row: Texts, ignored: readonly string[]): string {
  const names = Object.keys(row).filter((name) => !name.startsWith('_') && !ignored.includes(name));
  return JSON.stringify(names.sort().map((name) => row[name]));
}

interface Judged {
  taken: string[];
  gone: string[];
  added: string[];
  come: string[];
  updates: { before: Texts[]; after: Texts[] };
}

/** The rows that a feed removes and adds, and the rows that left the first table and entered the second one. */
export async function judged(
  paths: { before: string; after: string; feed: string },
  ignored: readonly string[] = [],
): Promise<Judged> {
  const [before, after, feed] = await Promise.all([rowsIn(paths.before), rowsIn(paths.after), rowsIn(paths.feed)]);
  const rowsOf = (...types: string[]) => feed.filter(({ _change_type: type }) => types.includes(String(type)));
  return {
    taken: without(rowsOf('delete', 'update_preimage'), [], ignored),
    gone: without(before, after, ignored),
    added: without(rowsOf('insert', 'update_postimage'), [], ignored),
    come: without(after, before, ignored),
    updates: { before: rowsOf('update_preimage'), after: rowsOf('update_postimage') },
  };
}

/** The option of COPY that gives tables the same row identity. */
export const IDENTITY = `, KV_METADATA {"crm-export.identity": 'abcdef'}`;

let engine: ReturnType<typeof openDuckDb> | undefined;

/** Stands for a missing value, which rows of texts can have at their end only. */
const MISSING = 'no value here';

/** Writes a table of texts to a file. */
export function putTexts(path: string, names: readonly string[], rows: readonly Row[]): Promise<unknown> {
  return inFolder('table-', async (folder) => {
    engine ??= openDuckDb(folder);
    const batches = async function* () {
      yield rows.map((row) => row.map((text) => text ?? MISSING));
    };
    const texts = await stage(batches(), join(folder, 'rows.csv'), names.length);
    const columns = names.map((name, at) => `nullif(c${at}, '${MISSING}') AS ${named(name)}`);
    return (await engine).rows(`COPY (SELECT ${columns} FROM ${texts}) TO '${path}' (FORMAT parquet${IDENTITY})`);
  });
}
