import { describe, test } from 'vitest';
import { randomFrom, TEST_SEED } from '../support/seeds.ts';
import { ROWS, type Row } from './predictions.ts';
import { runRow } from './support/run-row.ts';

export function testRows(title: string, rows: Row[]): void {
  describe(title, () => {
    test.each(rows.map((row) => [nameOf(row), row] as const))('%s', (_, row) => runRow(row));
  });
}

function nameOf({ scenario, step, call, fault, span, end }: Row): string {
  return `${scenario}: ${step}, "${call}" ${fault} ${span}: ends ${end === 'well' ? 'well' : `in ${end}`}`;
}

/** One in `oneOf` rows; the seed decides which. */
export function drawn(oneOf: number): Row[] {
  const random = randomFrom(TEST_SEED);
  const placed = ROWS.map((row) => ({ row, place: random() })).sort((a, b) => a.place - b.place);
  return placed.slice(0, Math.ceil(ROWS.length / oneOf)).map(({ row }) => row);
}

/** Rows by the machine of their execution; in CI a sixteenth of them. */
export const rowsOf = (machine: 'exports' | 'updates'): Row[] =>
  (process.env.CI ? drawn(16) : ROWS).filter(({ scenario }) => scenario.endsWith('batch') === (machine === 'updates'));
