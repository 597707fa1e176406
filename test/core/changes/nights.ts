import fc from 'fast-check';
import type { TableSettings } from '../../../core/config/table-settings.ts';

export const HEADER = ['id', 'branch', 'name', 'sum', 'day', 'at', 'active', 'score', 'updatedAt'];
export const COLUMNS: TableSettings['columns'] = {
  sum: { type: 'decimal', precision: 18, scale: 2 },
  day: 'date',
  at: 'timestamp',
  active: 'boolean',
  score: 'double',
};
export type Row = string[];

const texts = fc.constantFrom(
  ...['', 'א', 'שלום', 'ab', 'a', 'b', '😀', 'NULL', ' a ', 'a, b; c|d\te', '"', 'a "b"', 'a\nb', "'a", '&<>'],
  'a long text of more than twenty-four letters',
);
const row: fc.Arbitrary<Row> = fc.tuple(
  fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }).map(String) }, texts),
  fc.constantFrom('1', '2', ''),
  texts,
  fc.constantFrom('', '1', '1.00', '-0.01', '9999999999999999.99'),
  fc.constantFrom('', '2026-11-22', '1950-01-01'),
  fc.constantFrom('', '2026-11-22T08:00:00Z', '2026-11-22T10:00:00+02:00', '1969-12-31T23:59:59.999Z'),
  fc.constantFrom('', 'true', 'false'),
  fc.constantFrom('', '0', '-0', '1e300', '0.1'),
  texts,
);
/** A second night: some rows are removed, some changed, some added, and the order differs. */
export const nights = fc.array(row, { maxLength: 20 }).chain((before) =>
  fc.record({
    before: fc.constant(before),
    after: fc
      .tuple(
        fc.array(fc.constantFrom('same', 'same', 'same', 'gone', 'changed', 'twice'), {
          minLength: before.length,
          maxLength: before.length,
        }),
        fc.array(row, { maxLength: 6 }),
        fc.array(row, { minLength: before.length, maxLength: before.length }),
        fc.nat(),
      )
      .map(([fates, added, others, turn]) => {
        const kept = before.flatMap((one, place) => {
          const changed = [...one.slice(0, 2), ...(others[place] ?? []).slice(2)];
          return { same: [one], gone: [], changed: [changed], twice: [one, one] }[fates[place] ?? 'same'];
        });
        const all = [...kept, ...added];
        return [...all.slice(turn % (all.length + 1)), ...all.slice(0, turn % (all.length + 1))];
      }),
  }),
);
export const plans = fc.constantFrom(
  { key: ['id'], ignore: [] },
  { key: ['id', 'branch'], ignore: [] },
  { key: ['id'], ignore: ['updatedat'] },
  { key: ['sum'], ignore: ['name', 'score'] },
);
