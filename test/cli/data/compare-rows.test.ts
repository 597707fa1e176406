import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareRows } from '../../../cli/data/compare-rows.ts';
import { inFolder, quoted, withEngine } from '../../../core/table/engine.ts';
import { runs } from '../../support/runs.ts';

/** Rows of a key and of more columns than one join compares. */
const WIDTH = 70;
const NAMES = ['id', ...Array.from({ length: WIDTH }, (_, at) => `column ${at}`)];

const key = fc.oneof(fc.constant(''), fc.integer({ min: 1, max: 9 }).map(String));
const cells = fc.array(
  fc.tuple(fc.nat(WIDTH - 1), fc.constantFrom('a', 'NULL', 'א', '\x1f', '\x1e', '\x1d', '\x1f\x1e')),
  { maxLength: 5 },
);
const file = fc.array(
  fc.tuple(key, cells).map(([id, some]) => {
    const row = Array.from({ length: WIDTH }, () => '');
    for (const [at, text] of some) row[at] = text;
    return [id, ...row];
  }),
  { maxLength: 60 },
);

test.each([20, 300, 100e6])('finds in parts of %i bytes what it finds in all rows', async (partBytes) => {
  await fc.assert(
    fc.asyncProperty(file, file, async (before, after) => {
      const found = await inFolder('compare-', async (folder) => {
        const side = (name: string, rows: string[][]) => {
          const path = join(folder, `${name}.json`);
          const columns = NAMES.map((_, at) => `c${at}`);
          writeFileSync(
            path,
            rows.map((row) => JSON.stringify(Object.fromEntries(row.map((cell, at) => [`c${at}`, cell])))).join('\n'),
          );
          const typed = columns.map((column) => `${column}: 'VARCHAR'`);
          return { rows: `read_ndjson(${quoted(path)}, columns = {${typed}})`, columns, textBytes: rows.length * 10 };
        };
        const sides = { before: side('b', before), after: side('a', after) };
        const limits = { bufferMB: 100, folder, onProgress: () => undefined };
        return withEngine(limits, (query) => compareRows(query, sides, NAMES, { folder, showKeys: true, partBytes }));
      });

      expect(found).toEqual(comparisonOf(before, after, NAMES));
    }),
    { numRuns: runs(40) },
  );
});

/** The comparison of two files by their first column, without an engine. The first row of each key counts. */
function comparisonOf(before: string[][], after: string[][], names: string[]) {
  const [old, recent] = [firstRows(before), firstRows(after)];
  const inBoth = [...recent.keys()].filter((id) => old.has(id));
  const differing = (at: number) => inBoth.filter((id) => old.get(id)?.[at] !== recent.get(id)?.[at]);
  const counts = names.map((name, at): [string, number] => [name, differing(at).length]);
  const changed = new Set(names.flatMap((_, at) => differing(at)));
  const inOrder = (rows: string[][], which: (id: string) => boolean) => [...firstRows(rows).keys()].filter(which);
  const repeated = (rows: string[][]) => rows.filter(([id]) => id !== '').length - firstRows(rows).size;
  const empty = (rows: string[][]) => rows.filter(([id]) => id === '').length;
  return {
    keys: {
      column: names[0],
      ...{ added: recent.size - inBoth.length, removed: old.size - inBoth.length, kept: inBoth.length },
      repeated: { before: repeated(before), after: repeated(after) },
      empty: { before: empty(before), after: empty(after) },
    },
    changed: { rows: changed.size, columns: Object.fromEntries(counts.filter(([, count]) => count > 0)) },
    addedKeys: inOrder(after, (id) => !old.has(id)),
    removedKeys: inOrder(before, (id) => !recent.has(id)),
    changedKeys: inOrder(after, (id) => changed.has(id)),
  };
}

/** The first row of each key, in the order of the file. */
function firstRows(rows: string[][]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const row of rows) if (row[0] && !found.has(row[0])) found.set(row[0], row);
  return found;
}
