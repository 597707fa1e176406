import { randomInt } from 'node:crypto';
import { randomFrom } from '../oauth/support/virtual-clock.ts';
import { ROWS, type Row } from './rows.ts';

/** Printed where rows are drawn: it repeats a draw. */
export const FAULTS_SEED = Number(process.env.FAULTS_SEED ?? randomInt(2 ** 31));

/** One of so many rows of the matrix, others each time. */
export function drawn(oneOf: number): Row[] {
  const random = randomFrom(FAULTS_SEED);
  const placed = ROWS.map((row) => ({ row, place: random() })).sort((a, b) => a.place - b.place);
  return placed.slice(0, Math.ceil(ROWS.length / oneOf)).map(({ row }) => row);
}
