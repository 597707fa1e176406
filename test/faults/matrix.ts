import { describe, test } from 'vitest';
import { drawn } from './drawn.ts';
import { ROWS, type Row } from './rows.ts';
import { runRow } from './support/run-row.ts';

/** Defines a test for each of these rows. */
export function testRows(title: string, rows: Row[]): void {
  describe(title, () => {
    test.each(rows.map((row) => [nameOf(row), row] as const))('%s', (_, row) => runRow(row));
  });
}

function nameOf({ scenario, step, call, fault, span, end }: Row): string {
  return `${scenario}: ${step}, "${call}" ${fault} ${span}: ends ${end === 'well' ? 'well' : `in ${end}`}`;
}

/** Rows by the machine of their execution; in CI a sixteenth of them. */
export const rowsOf = (machine: 'exports' | 'updates'): Row[] =>
  (process.env.CI ? drawn(16) : ROWS).filter(({ scenario }) => scenario.endsWith('batch') === (machine === 'updates'));
