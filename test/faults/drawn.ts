import { randomFrom, TEST_SEED } from '../support/seeds.ts';
import { ROWS, type Row } from './rows.ts';

/** One in `oneOf` rows of the matrix; the seed decides which. */
export function drawn(oneOf: number): Row[] {
  const random = randomFrom(TEST_SEED);
  const placed = ROWS.map((row) => ({ row, place: random() })).sort((a, b) => a.place - b.place);
  return placed.slice(0, Math.ceil(ROWS.length / oneOf)).map(({ row }) => row);
}
