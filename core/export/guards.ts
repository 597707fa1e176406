import * as z from 'zod/mini';
import type { GuardSettings } from '../config/guard-settings.ts';

const checkSchema = z.object({
  guard: z.string(),
  passed: z.boolean(),
  measured: z.nullable(z.number()).check(z.describe('null = not known of this file.')),
  bound: z.number(),
});
export type GuardCheck = z.infer<typeof checkSchema>;

const comparedSchema = z.object({
  date: z.iso.date(),
  execution: z.string(),
  rows: z.nullable(z.int()).check(z.describe('null = not counted.')),
});
export type Compared = z.infer<typeof comparedSchema>;

/** Why a file was published or stopped. Read loosely: a later release has other guards. */
export const guardReportSchema = z.object({
  checks: z.array(checkSchema),
  comparedWith: z
    .array(comparedSchema)
    .check(z.describe('Published exports of other dates that the file is compared with, newest first.')),
  medianRows: z.nullable(z.number()).check(z.describe('Of their rows; null = none of them has counted rows.')),
});
export type GuardReport = z.infer<typeof guardReportSchema>;

/** What is known of a file. */
export interface Measured {
  bytes: number;
  /** There is nothing in it, be it packed or not. */
  empty: boolean;
  rows: number | null;
  /** Share of records with another number of fields than the first. */
  irregularShare: number | null;
}

/** A median below it is judged neither for shrinking nor for growing: three rows may well be one. */
const LEAST_USUAL_ROWS = 20;

/** Guards whose files no person can release. */
const NEVER_RELEASED = ['excepted'];

/**
 * Compares a file with what is published. A measure that is not known passes, except against `minRows`, which somebody
 * has asked for.
 */
export function guardReport(measured: Measured, settings: GuardSettings, comparedWith: Compared[]): GuardReport {
  const { bytes, empty, rows, irregularShare } = measured;
  const { minRows, maxShrink, maxGrowth, maxIrregularShare } = settings;
  const median = medianOf(comparedWith.flatMap((each) => each.rows ?? []));
  const checks = [
    atLeast('empty', empty ? 0 : bytes, 1),
    ...(median ? [atLeast('noRows', rows, 1)] : []),
    ...(minRows === undefined
      ? []
      : [{ ...atLeast('minRows', rows, minRows), passed: rows !== null && rows >= minRows }]),
    ...(median !== null && median >= LEAST_USUAL_ROWS
      ? [atMost('maxShrink', rows === null ? null : Math.max(0, 1 - rows / median), maxShrink)]
      : []),
    ...(median === null
      ? []
      : [atMost('maxGrowth', rows === null ? null : rows / Math.max(median, LEAST_USUAL_ROWS), maxGrowth)]),
    atMost('maxIrregularShare', irregularShare, maxIrregularShare),
  ];
  return { checks, comparedWith, medianRows: median };
}

export function failedChecks({ checks }: GuardReport): GuardCheck[] {
  return checks.filter(({ passed }) => !passed);
}

export function isReleasable(report: GuardReport): boolean {
  return failedChecks(report).every(({ guard }) => !NEVER_RELEASED.includes(guard));
}

function atLeast(guard: string, measured: number | null, bound: number): GuardCheck {
  return { guard, passed: measured === null || measured >= bound, measured, bound };
}

function atMost(guard: string, measured: number | null, bound: number): GuardCheck {
  return { guard, passed: measured === null || measured <= bound, measured, bound };
}

/** Of an even number: between the two in the middle. */
function medianOf(numbers: number[]): number | null {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
