import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storedValue } from '../../../core/changes/row-code.ts';
import { readTable } from '../../../core/changes/table-reader.ts';
import { runs } from '../../support/runs.ts';
import { placeForTables, putTable } from '../table/support.ts';
import { forms, PLAIN, publishedAs } from './forms.ts';
import { HEADER, nights, plans } from './nights.ts';
import { fileOf, putFeed } from './support.ts';

const { dir } = await placeForTables();
const place = (name: string) => join(dir, name);

/** Rows of a table or feed as texts, without these columns; of a feed behind the type of their change. */
async function rowsIn(name: string, without: readonly string[] = []): Promise<{ type: unknown; row: string }[]> {
  const table = await readTable(fileOf(readFileSync(place(name))));
  const places = HEADER.map((column) => column.toLowerCase())
    .filter((column) => !without.includes(column))
    .map((column) => table.columns.findIndex((one) => one.name === column));
  const rows: { type: unknown; row: string }[] = [];
  for await (const { rows: count, columns } of table.groups()) {
    const stored = (column: number, row: number) => storedValue(columns[column]?.[row]);
    for (let row = 0; row < count; row += 1) {
      const values = places.map((column) => stored(column, row));
      rows.push({ type: stored(0, row), row: values.map((value) => `${typeof value} ${value}`).join('\0') });
    }
  }
  return rows;
}

/** Rows of one that the other has not, each as often. */
function without(one: { row: string }[], other: { row: string }[]): string[] {
  const left = new Map<string, number>();
  for (const { row } of other) left.set(row, (left.get(row) ?? 0) + 1);
  return one
    .map(({ row }) => row)
    .filter((row) => {
      const count = left.get(row) ?? 0;
      left.set(row, count - 1);
      return count <= 0;
    })
    .sort();
}

const change = fc.oneof({ weight: 3, arbitrary: fc.constant('another night') }, fc.constant('the same rows'));

test('a second night in another order, dialect, encoding or format has a feed of what differs, and of equal rows none', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(nights, change, forms, forms, plans, async (night, what, first, second, plan) => {
      seen.add(`${second.kind} ${second.compression}`).add(second.encoding);
      const after = what === 'the same rows' ? night.before.toReversed() : night.after;
      await putTable(place('before'), await publishedAs(night.before, first));
      await putTable(place('after'), await publishedAs(after, second));

      await putFeed(place('feed'), { before: place('before'), after: place('after'), ...plan });

      const told = await rowsIn('feed', plan.ignore);
      if (what === 'the same rows') expect(told).toEqual([]);
      // What the table is by itself, in a form that both do not have.
      await putTable(place('plain'), await publishedAs(after, PLAIN));
      const [old, recent] = [await rowsIn('before', plan.ignore), await rowsIn('plain', plan.ignore)];
      const types = (...some: string[]) => told.filter(({ type }) => some.includes(String(type)));
      expect(without(types('delete', 'update_preimage'), [])).toEqual(without(old, recent));
      expect(without(types('insert', 'update_postimage'), [])).toEqual(without(recent, old));
    }),
    { numRuns: runs(1000) },
  );
  expect(seen.size).toBe(11);
});
