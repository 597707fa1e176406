import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../support/runs.ts';
import { placeForTables, rowsIn } from '../table/support.ts';
import { IDENTITY, judged, NAMES, putFeed, putTexts, type Row } from './support.ts';

const { dir, duckDb } = await placeForTables();
const paths = { before: join(dir, 'before.parquet'), after: join(dir, 'after.parquet'), feed: join(dir, 'f.parquet') };

const compare = (of: { key?: readonly string[]; ignore?: readonly string[] } = {}, limits: object = {}) =>
  putFeed(paths.feed, { before: paths.before, after: paths.after, key: ['a'], ...of }, limits);

async function feedBetween(before: Row[], after: Row[], key: readonly string[], ignore: readonly string[] = []) {
  await putTexts(paths.before, NAMES, before);
  await putTexts(paths.after, NAMES, after);
  return compare({ key, ignore });
}

/** Rows of four values; those that a text lacks are missing. */
const rows = (...texts: string[]): Row[] => texts.map((text) => NAMES.map((_, at) => text.split(',')[at] ?? null));

/** The changes in a feed: the type of each, and the values of its row. */
async function changesBetween(before: Row[], after: Row[], key: readonly string[]) {
  const { keys, gone, unmatched } = await feedBetween(before, after, key);
  const changes = (await rowsIn(paths.feed)).map((row): [string | null | undefined, Row] => [
    row._change_type,
    NAMES.map((name) => row[name] ?? null),
  ]);
  return { changes, counts: { keys, gone, unmatched } };
}

const value = fc.constantFrom(null, '', 'x', 'y', 'xy', 'yx', 'א', 'é', 'e\u0301', '\0', 'x\0', "'", '"');
const anyRow: fc.Arbitrary<Row> = fc.tuple(fc.oneof(value, fc.nat(9).map(String)), value, value, value);
const anyRows = fc.array(anyRow, { maxLength: 30 });
const tables = anyRows.chain((before) =>
  fc
    .tuple(fc.shuffledSubarray(before), anyRows, fc.array(fc.tuple(fc.nat(), anyRow)))
    .map(([kept, added, changed]): [Row[], Row[]] => {
      const after = [...kept, ...added.slice(0, 5)];
      for (const [place, other] of changed.slice(0, 5)) {
        const at = place % (after.length || 1);
        if (after[at]) after[at] = [...(after[at] ?? []).slice(0, 2), ...other.slice(2)];
      }
      return [before, after];
    }),
);

/** A pair of tables, the key of their rows, and ignored columns. */
const pairs = fc.record({
  tables,
  key: fc.constantFrom(['a'], ['a', 'b'], ['b', 'a', 'c']),
  ignore: fc.constantFrom([], ['d']),
});

test('writes exactly the rows that differ, and rows with one key as updates, for 1,000 random pairs of tables', {
  timeout: 900_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async ({ tables: [before, after], key, ignore }) => {
      await feedBetween(before, after, key, ignore);

      const { taken, gone, added, come, updates } = await judged(paths, ignore);
      expect(taken).toEqual(gone);
      expect(added).toEqual(come);
      const keysOf = (rows: typeof updates.before) => rows.map((row) => JSON.stringify(key.map((name) => row[name])));
      expect(keysOf(updates.before).sort()).toEqual(keysOf(updates.after).sort());
    }),
    { numRuns: runs(1000) },
  );
});

test('writes the same bytes with any memory limit', async () => {
  const many = (from: number) =>
    Array.from({ length: 500 }, (_, at): Row => [at % 50 === 0 ? '' : `${at}`, `${at % from}`, 'x'.repeat(at), null]);
  const bytes: string[] = [];
  for (const bufferMB of [157, 911, 1654]) {
    await feedBetween(many(7), many(8).toReversed(), ['a']);
    await compare({}, { bufferMB });
    bytes.push(readFileSync(paths.feed).toString('base64'));
  }
  expect(new Set(bytes).size).toBe(1);
});

test('writes rows without a key or with a duplicate key as delete and insert, and counts them', async () => {
  const before = rows(',x', '1,x', '2,x');
  const after = rows(',y', '1,x', '1,y');
  const { changes, counts } = await changesBetween(before, after, ['a']);
  expect(changes.map(([type, [a, b]]) => `${type} ${a} ${b}`).sort()).toEqual([
    'delete  x',
    'delete 2 x',
    'insert  y',
    'insert 1 y',
  ]);
  expect(counts).toEqual({ keys: 3, gone: 1, unmatched: 5 });
});

const many = (count: number, rowOf: (place: number) => Row) =>
  Array.from({ length: count }, (_, place) => rowOf(place));

test('counts rows without a key as gone only if their number falls', async () => {
  const edited = await changesBetween(
    many(50, (place) => ['', `${place}`, null, null]),
    many(50, (place) => ['', `${place}`, 'edited', null]),
    ['a'],
  );
  expect(edited.changes).toHaveLength(100);
  expect(edited.counts).toEqual({ keys: 50, gone: 0, unmatched: 100 });
  const fewer = await changesBetween(
    many(50, (place) => [null, `${place}`, null, null]),
    many(20, (place) => ['', `${place}`, null, null]),
    ['a'],
  );
  expect(fewer.counts).toEqual({ keys: 50, gone: 30, unmatched: 70 });
  const more = await changesBetween(
    many(20, (place) => [place < 10 ? '' : `${place}`, 'x', null, null]),
    many(50, () => ['', 'x', null, null]),
    ['a'],
  );
  expect(more.counts).toEqual({ keys: 20, gone: 10, unmatched: 60 });
});

test('counts a duplicate key as gone once, when no row has it anymore', async () => {
  const before: Row[] = ['1', '1', '1', '2', '2', '3'].map((key, place) => [key, `${place}`, null, null]);
  const after: Row[] = [['2', 'x', null, null]];
  const { changes, counts } = await changesBetween(before, after, ['a']);
  expect(changes.filter(([type]) => type === 'delete')).toHaveLength(6);
  expect(counts).toEqual({ keys: 3, gone: 2, unmatched: 6 });
});

/** Two tables with the given number of rows and one difference, written by DuckDB and read by another library. */
async function putMany(rows: number, text: string, key = "'key ' || i") {
  for (const [path, from] of [
    ['before', 0],
    ['after', 1],
  ] as const) {
    const row = `SELECT ${key} AS a, ${text} AS b, '' AS c, NULL::VARCHAR AS d, i FROM range(${from}, ${rows} + ${from}) t(i)`;
    await duckDb.rows(
      `COPY (SELECT * EXCLUDE (i) FROM (${row}) ORDER BY i ${from ? 'DESC' : ''}) TO '${paths[path]}' (FORMAT parquet, ROW_GROUP_SIZE 2048${IDENTITY})`,
    );
  }
}

const changes = (count: number) => ({ kind: 'changes', inserts: count, deletes: count, updates: 0 });

test('compares tables with small files and large rows', async () => {
  await putMany(9000, "repeat('x', 16384)");
  expect(await compare()).toMatchObject(changes(1));
});

test('compares rows that all have the same key, with little memory', async () => {
  await putMany(150_000, "'name ' || i", "'x'");
  const counts = { keys: 1, gone: 0, unmatched: 300_000, rows: 150_000 };
  expect(await compare({}, { bufferMB: 157 })).toEqual({ of: 'keys', ...counts, ...changes(1) });
});

test('a feed contains exactly the rows that differ, even if rows spill to disk', async () => {
  await putMany(150_000, "lpad(i::VARCHAR, 100, 'x')");
  const limits = { bufferMB: 30 };

  await expect(compare({}, { ...limits, diskBytes: 64 * 1024 })).rejects.toMatchObject({ kind: 'disk' });
  expect(await compare({}, limits)).toMatchObject(changes(1));
  const { taken, gone, added, come } = await judged(paths);
  expect([taken, added]).toEqual([gone, come]);
});

test('compares tables of 1,000 columns', async () => {
  const names = Array.from({ length: 1000 }, (_, at) => `c${at}`);
  const rows = (changed: number) =>
    Array.from({ length: 300 }, (_, at) =>
      names.map((_, column) => `${at}${at === changed && column === 999 ? '!' : ''}`),
    );
  await putTexts(paths.before, names, rows(-1));
  await putTexts(paths.after, names, rows(7));
  const written = await compare({ key: ['c0'] });
  expect(written).toMatchObject({ inserts: 0, deletes: 0, updates: 1 });
});

test('the error for a damaged table contains no value of a row', async () => {
  await putTexts(paths.before, NAMES, [['secret-1', 'secret-2', 'secret-3', 'secret-4']]);
  const whole = readFileSync(paths.before);
  // The footer at its end is intact; the rows are not.
  writeFileSync(paths.after, Buffer.concat([Buffer.alloc(40, 'secret'), whole.subarray(40)]));

  const refused = await compare().catch((error: Error) => error);

  expect(refused).toMatchObject({ kind: expect.stringMatching(/^[A-Z][A-Za-z ]+ Error$/) });
  expect(JSON.stringify(refused, Object.getOwnPropertyNames(refused))).not.toMatch(/secret-|\.parquet/);
});
