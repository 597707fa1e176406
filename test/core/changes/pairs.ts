import fc from 'fast-check';

/** Pairs of tables of texts; the second one is from the next night. */

export type Row = (string | null)[];
export const NAMES = ['a', 'b', 'c', 'd'];

const value = fc.constantFrom(null, '', 'x', 'y', 'xy', 'yx', 'א', 'é', 'e\u0301', '\0', 'x\0', "'", '"');
const row: fc.Arbitrary<Row> = fc.tuple(fc.oneof(value, fc.nat(9).map(String)), value, value, value);
const rows = fc.array(row, { maxLength: 30 });
const tables = rows.chain((before) =>
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

/** A pair of tables, the key of their rows, and ignored columns. */
export const pairs = fc.record({
  tables,
  key: fc.constantFrom(['a'], ['a', 'b'], ['b', 'a', 'c']),
  ignore: fc.constantFrom([], ['d']),
});
