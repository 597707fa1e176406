import * as z from 'zod/mini';
import { countText, numberText } from '../count-text.ts';

const checkSchema = z.object({
  guard: z.string(),
  passed: z.boolean(),
  measured: z.nullable(z.number()).check(z.describe('null if unknown.')),
  bound: z.number(),
  detail: z
    .nullable(z.string())
    .check(z.describe('The finding of the check, as part of a sentence; null if the measurement is enough.')),
});
export type GateCheckResult = z.infer<typeof checkSchema>;

const comparedSchema = z.object({
  date: z.iso.date(),
  execution: z.string(),
  rows: z
    .nullable(z.int())
    .check(
      z.describe(
        'Number of rows that are not empty. If it is uncertain, the lowest possible number; null if not counted.',
      ),
    ),
});

/** Why a file was published or stopped. Parsed loosely: a later release has other checks. */
export const gateReportSchema = z.object({
  checks: z.array(checkSchema),
  comparedWith: z
    .array(comparedSchema)
    .check(z.describe('Published exports that the file is compared with, newest first.')),
  medianRows: z
    .nullable(z.number())
    .check(z.describe('Median of the rows of comparedWith; null if no row count is known.')),
});
export type GateReport = z.infer<typeof gateReportSchema>;

/** A finding that a person accepted by releasing an earlier file of a plan. Similar later files need no release. */
export const acceptedSchema = z.object({
  guard: z.string().check(z.describe('The check that had stopped the file.')),
  kind: z
    .string()
    .check(
      z.describe(
        'How later files are recognised: by the SHA-256 of the first record, or by format, width and last width; empty = every file.',
      ),
    ),
  columns: z
    .nullable(z.array(z.string()))
    .check(z.describe('The columns that an unknown header was released for; null for any other check.')),
});
export type Accepted = z.infer<typeof acceptedSchema>;

export function failedChecks({ checks }: Pick<GateReport, 'checks'>): GateCheckResult[] {
  return checks.filter(({ passed }) => !passed);
}

/** @param rows `null` = not counted */
export function rowsText(rows: number | null): string {
  return rows === null ? 'rows that cannot be counted' : countText(rows, 'row');
}

export function usualText(medianRows: number | null): string {
  return `${numberText(medianRows ?? 0)} are usual`;
}
