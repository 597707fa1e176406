import { expect, it } from 'vitest';
import { RowGroup } from '../../../core/table/write-parquet.ts';

const MEBIBYTE = 1024 * 1024;

const groupOf = (width: number, hashed = false) => {
  const column = (place: number) => ({ name: `c${place}`, place, type: 'text' as const, hashed });
  return new RowGroup(
    Array.from({ length: width }, (_, place) => column(place)),
    'null',
    'key',
  );
};

/** The number of characters in the fields of a full row group. */
const charactersOf = (width: number, length: number) => {
  const group = groupOf(width);
  const record = Array.from({ length: width }, () => 'x'.repeat(length));
  let rows = 0;
  for (; !group.full; rows += 1) group.add(record, rows);
  return rows * width * length;
};

it('is full after some mebibytes, however long its fields are', () => {
  for (const length of [10, 1000, 100_000]) {
    expect(charactersOf(20, length)).toBeGreaterThan(2 * MEBIBYTE);
    expect(charactersOf(20, length)).toBeLessThan(7 * MEBIBYTE);
  }
});

it('is larger where there are many columns, for every group has a description of each', () => {
  expect(charactersOf(1000, 8)).toBeGreaterThan(4 * charactersOf(20, 8));
});

it('counts a hash with its own length, however short the field was', () => {
  const group = groupOf(1, true);
  let rows = 0;
  for (; !group.full; rows += 1) group.add(['x'], rows);

  expect(rows * 64).toBeLessThan(4 * MEBIBYTE);
});

it('is full of empty fields, too', () => {
  const group = groupOf(20);
  for (let row = 1; row < MEBIBYTE && !group.full; row += 1) group.add([], row);

  expect(group.full).toBe(true);
});

it('forgets what was taken', () => {
  const group = groupOf(1);
  group.add(['a'], 1);

  expect(group.take().columnData[0]?.data).toEqual(['a']);
  expect(group.empty).toBe(true);
  expect(group.take().columnData[0]?.data).toEqual([]);
});
