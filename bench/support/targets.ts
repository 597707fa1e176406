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

/** A target that is met at one value alone. */
export function exactly(id: string, aim: number, measured: number): Target {
  return { id, aim: `= ${aim}`, measured, met: measured === aim };
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
