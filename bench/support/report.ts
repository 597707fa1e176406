import { table } from '../../cli/support/table.ts';

/** What was aimed at, and what was measured: both ratios within one run. */
export interface Target {
  id: string;
  aim: string;
  measured: number;
  met: boolean;
}

/** A target that is met at or below a ratio. */
export function atMost(id: string, limit: number, measured: number): Target {
  return {
    id,
    aim: `<= ${Math.round(limit * 100) / 100}`,
    measured: Math.round(measured * 100) / 100,
    met: measured <= limit,
  };
}

/** A target that is met at or above a value. */
export function atLeast(id: string, limit: number, measured: number): Target {
  return { id, aim: `>= ${limit}`, measured: Math.round(measured * 100) / 100, met: measured >= limit };
}

/** One JSON document, or tables for a person. */
export function printReport(json: boolean, targets: Target[], runs: Record<string, string | number>[]): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ targets, runs })}\n`);
    return;
  }
  const targetRows = targets.map(({ id, aim, measured, met }) => [id, aim, String(measured), met ? 'yes' : 'no']);
  const headings = [...new Set(runs.flatMap((run) => Object.keys(run)))];
  const runRows = runs.map((run) => headings.map((heading) => String(run[heading] ?? '')));
  process.stdout.write(`\n${table(headings, runRows)}\n\n${table(['target', 'aim', 'measured', 'met'], targetRows)}\n`);
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
