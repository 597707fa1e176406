import { compareTables } from '../../../core/changes/compare-tables.ts';
import { rowPlan } from '../../../core/changes/row-record.ts';
import type { TableReader } from '../../../core/changes/table-reader.ts';

/** Compares two tables whose rows all have one key, and says what it found: to be started with little memory. */
const [, , rows = ''] = process.argv;
const COUNT = Number(rows);
const COLUMNS = ['id', 'name'].map((name) => ({ name, type: 'BYTE_ARRAY' as const }));
const KEY = Buffer.from('x');

function tableOf(first: number): TableReader {
  return {
    columns: COLUMNS,
    rows: COUNT,
    said: {},
    async *groups() {
      for (let at = 0; at < COUNT; at += 10_000) {
        const some = Array.from({ length: Math.min(10_000, COUNT - at) }, (_, place) => first + COUNT - at - place);
        yield { rows: some.length, columns: [some.map(() => KEY), some.map((name) => Buffer.from(`name ${name}`))] };
      }
    },
  };
}

const counts = { keys: 0, gone: 0, unmatched: 0 };
let calls = 0;
const onProgress = () => {
  calls += 1;
};
const tables = { before: tableOf(0), after: tableOf(1) };
const plan = rowPlan(COLUMNS, ['id'], []);
let changes = 0;
let withinParts = 0;
for await (const part of compareTables({ ...tables, bytes: 1, plan, onProgress }, counts)) {
  const before = calls;
  for (const _ of part) changes += 1;
  withinParts += calls - before;
}
process.stdout.write(JSON.stringify({ counts, changes, asked: withinParts > 0 }));
