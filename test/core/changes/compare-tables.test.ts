import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Change } from '../../../core/changes/compare-part.ts';
import { compareTables } from '../../../core/changes/compare-tables.ts';
import { rowPlan, valuesOf } from '../../../core/changes/row-record.ts';
import type { TableReader } from '../../../core/changes/table-reader.ts';
import { runs } from '../../support/runs.ts';

type Row = (string | null)[];
const NAMES = ['a', 'b', 'c', 'd'];
const COLUMNS = NAMES.map((name) => ({ name, type: 'BYTE_ARRAY' as const }));

/** A table of texts in memory, in row groups of three. */
function tableOf(rows: Row[]): TableReader {
  return {
    columns: COLUMNS,
    rows: rows.length,
    said: {},
    async *groups() {
      for (let at = 0; at < rows.length; at += 3) {
        const some = rows.slice(at, at + 3);
        const columns = NAMES.map((_, place) =>
          some.map((row) => (row[place] == null ? null : Buffer.from(row[place]))),
        );
        yield { rows: some.length, columns };
      }
    },
  };
}

async function changesBetween(before: Row[], after: Row[], key: readonly string[], ignore: string[] = []) {
  const plan = rowPlan(COLUMNS, key, ignore);
  const changes: [Change['type'], Row][] = [];
  const tables = { before: tableOf(before), after: tableOf(after) };
  const counts = { keys: 0, gone: 0, unmatched: 0 };
  const comparison = { ...tables, plan, diskBytes: 1e9, onProgress: () => undefined };
  for await (const part of compareTables(comparison, counts)) {
    for (const { type, row } of part) changes.push([type, valuesOf(row, plan) as Row]);
  }
  return { changes, counts };
}

const texts = (rows: Row[]) => rows.map((row) => JSON.stringify(row)).sort();
/** Rows of one that the other has not, each as often. */
function without(one: string[], other: string[]): string[] {
  const left = [...other];
  return one.filter((row) => {
    const place = left.indexOf(row);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}

const value = fc.constantFrom(null, '', 'x', 'y', 'xy', 'yx', 'א');
const row: fc.Arbitrary<Row> = fc.tuple(fc.oneof(value, fc.nat(9).map(String)), value, value, value);
const rows = fc.array(row, { maxLength: 30 });
const seconds = rows.chain((before) =>
  fc
    .tuple(fc.shuffledSubarray(before), rows, fc.array(fc.tuple(fc.nat(), row)))
    .map(([kept, added, changed]): [Row[], Row[]] => {
      const after = [...kept, ...added.slice(0, 5)];
      for (const [place, other] of changed.slice(0, 5)) {
        const at = place % (after.length || 1);
        if (after[at]) after[at] = [...(after[at] ?? []).slice(0, 2), ...other.slice(2)];
      }
      return [before, after];
    }),
);

test('of a thousand pairs of tables, exactly the rows that differ are told, and rows of one key as updates', async () => {
  const keys = fc.constantFrom(['a'], ['a', 'b'], ['b', 'a', 'c']);
  await fc.assert(
    fc.asyncProperty(seconds, keys, async ([before, after], key) => {
      const { changes } = await changesBetween(before, after, key);

      const told = (...types: string[]) =>
        texts(changes.filter(([type]) => types.includes(type)).map(([, one]) => one));
      const [old, recent] = [texts(before), texts(after)];
      expect(told('delete', 'update_preimage')).toEqual(without(old, recent).sort());
      expect(told('insert', 'update_postimage')).toEqual(without(recent, old).sort());
      const keyOf = ([, one]: [string, Row]) => JSON.stringify(key.map((name) => one[NAMES.indexOf(name)]));
      const updates = changes.filter(([type]) => type.startsWith('update'));
      for (const [place, update] of updates.entries()) {
        expect(update[0]).toBe(place % 2 ? 'update_postimage' : 'update_preimage');
        expect(keyOf(update)).toBe(keyOf(updates[place - (place % 2)] as [string, Row]));
      }
    }),
    { numRuns: runs(1000) },
  );
});

test('parts of a composite key are not joined: ("a", "bc") is another than ("ab", "c")', async () => {
  const { changes } = await changesBetween([['a', 'bc', null, '1']], [['ab', 'c', null, '1']], ['a', 'b']);
  expect(changes.map(([type]) => type)).toEqual(['delete', 'insert']);
});

test('a missing value and an empty text are different values', async () => {
  const { changes } = await changesBetween([['1', null, null, null]], [['1', '', null, null]], ['a']);
  expect(changes.map(([type]) => type)).toEqual(['update_preimage', 'update_postimage']);
});

test('a change of an ignored column is none, and beside another change it is told', async () => {
  const before: Row[] = [
    ['1', 'x', 'old', null],
    ['2', 'x', 'old', null],
  ];
  const after: Row[] = [
    ['1', 'x', 'new', null],
    ['2', 'y', 'new', null],
  ];
  const { changes } = await changesBetween(before, after, ['a'], ['c']);
  expect(changes).toEqual([
    ['update_preimage', ['2', 'x', 'old', null]],
    ['update_postimage', ['2', 'y', 'new', null]],
  ]);
});

test('rows without a key, and of a key that stands twice, are told as delete and insert, and counted', async () => {
  const before: Row[] = [
    ['', 'x', null, null],
    ['1', 'x', null, null],
    ['2', 'x', null, null],
  ];
  const after: Row[] = [
    ['', 'y', null, null],
    ['1', 'x', null, null],
    ['1', 'y', null, null],
  ];
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

test('a row without a key is gone only where there are fewer of them, however they are spread over the parts', async () => {
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

test('a key that stands more than once is gone once, when no row has it any more', async () => {
  const before: Row[] = ['1', '1', '1', '2', '2', '3'].map((key, place) => [key, `${place}`, null, null]);
  const after: Row[] = [['2', 'x', null, null]];
  const { changes, counts } = await changesBetween(before, after, ['a']);
  expect(changes.filter(([type]) => type === 'delete')).toHaveLength(6);
  expect(counts).toEqual({ keys: 3, gone: 2, unmatched: 6 });
});

test('columns that key or ignored ones name twice count once', async () => {
  const before: Row[] = [['1', 'x', 'old', null]];
  const after: Row[] = [['1', 'y', 'new', null]];
  const once = await changesBetween(before, after, ['a'], ['c']);
  expect(await changesBetween(before, after, ['a', 'a'], ['c', 'c'])).toEqual(once);
});
