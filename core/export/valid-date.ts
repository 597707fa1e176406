/** An earlier date is a typing error, or comes from a clock that was not set. */
export const FIRST_DATE = '2000-01-01';

/** The problem of an invalid date. A pointer to a future date would block every night until then. */
export function dateProblem(date: string, today: string, timeZone: string): string | undefined {
  // Rejects years with a sign.
  if (/^\d{4}-/.test(date) && date >= FIRST_DATE && date <= today) return undefined;
  return `${date} is not a valid date for an export: dates go from ${FIRST_DATE} to today, ${today} in ${timeZone}.`;
}
