import * as z from 'zod/mini';
import { dateProblems, misplacedDates } from './relative-date.ts';

/** A deeper value would exceed the stack of the functions that search it. */
const MOST_LEVELS = 100;
const described = z
  .record(z.string(), z.unknown())
  .check(z.refine(isShallow, { abort: true, error: `is nested more than ${MOST_LEVELS} levels deep` }));

function isShallow(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth < MOST_LEVELS; depth++)
    level = level.flatMap((each) => (typeof each === 'object' ? Object.values(each ?? {}) : []));
  return level.length === 0;
}

/** Reports each problem in a value at its path inside the field. */
export function reportProblems<T>(problemsOf: (value: T) => { path: PropertyKey[]; message: string }[]) {
  return z.check<T>(({ value: input, issues }) => {
    for (const { path, message } of problemsOf(input)) issues.push({ code: 'custom', path, message, input });
  });
}

function repeatedNames(names: string | string[]) {
  const isTwice = Array.isArray(names) && new Set(names).size < names.length;
  return isTwice ? [{ path: [], message: 'names a column twice' }] : [];
}

export const requestedColumns = z
  .union([z.literal('all'), z.array(z.string().check(z.minLength(1))).check(z.minLength(1), z.maxLength(1000))])
  .check(
    reportProblems(repeatedNames),
    z.describe('`"all"` (every column that the CRM lists), or a list of names, in order.'),
  );

/** The keys of an export request: configured for every night, or given for one run in the input of an execution. */
const request = z.object({
  columns: requestedColumns,
  sorts: z
    .array(described)
    .check(
      z.maxLength(50),
      reportProblems(misplacedDates),
      z.describe('Sort definitions, passed to the CRM unchanged. At most 50.'),
    ),
  filters: z
    .array(described)
    .check(
      z.maxLength(50),
      reportProblems(dateProblems),
      z.describe(
        'Filter definitions, passed to the CRM unchanged, except relative dates such as `{"$date": "day-1d"}` (docs/configuration.md, Relative dates). At most 50.',
      ),
    ),
  filtersOperator: z.enum(['and', 'or']).check(z.describe('Operator that combines several filters.')),
  sendEmail: z.boolean().check(z.describe('Whether the CRM also sends the export by e-mail.')),
});
export const requestKeys = z.partial(request).shape;
