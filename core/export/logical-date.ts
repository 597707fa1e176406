/**
 * The first date that an export may have. Every export is of the day that it is made, or makes up for one shortly before: an
 * earlier date is a slip of typing or a clock that stands at zero (1970), and would stay in the list of what is published.
 */
const FIRST_DATE = '2000-01-01';

/**
 * The calendar date, YYYY-MM-DD, that it was in a time zone. It is put together from its parts: what a locale writes, and in
 * which order, calendar and digits, is nobody's promise. Where ISO 8601 cannot write the year in four digits, it is the date
 * in UTC with a sign and six: good enough to be refused.
 */
export function dateIn(timeZone: string, time: Date): string {
  const [inUtc = ''] = time.toISOString().split('T');
  if (inUtc < '0001-01-02' || inUtc > '9999-12-30') return inUtc;
  const format = new Intl.DateTimeFormat('en', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
  });
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
  const { year = '', month = '', day = '' } = parts;
  return `${year.padStart(4, '0')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

/**
 * What is wrong with the logical date of an export, in a sentence. A pointer to a day that is still to come would stand in
 * the way of every night until then: pointers only move forward.
 * @param today where the deployment is
 */
export function dateProblem(date: string, today: string, timeZone: string): string | undefined {
  // A year that needs a sign is outside, on whichever side.
  if (/^\d{4}-/.test(date) && date >= FIRST_DATE && date <= today) return undefined;
  return `${date} is no date for an export: they go from ${FIRST_DATE} to today, ${today} in ${timeZone}.`;
}

/** The date in UTC, so many days after a time. */
export function dateAfter(time: string, days: number): string {
  return new Date(Date.parse(time) + days * 86_400_000).toISOString().slice(0, 10);
}
