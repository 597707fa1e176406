/** An earlier one is a typing error, or of a clock that is at zero. */
export const FIRST_DATE = '2000-01-01';

/** What is wrong with a date. A pointer to a future one would block every night until then. */
export function dateProblem(date: string, today: string, timeZone: string): string | undefined {
  // A year that needs a sign is outside.
  if (/^\d{4}-/.test(date) && date >= FIRST_DATE && date <= today) return undefined;
  return `${date} is no date for an export: they go from ${FIRST_DATE} to today, ${today} in ${timeZone}.`;
}
