/** An earlier one is a typing error, or of a clock that is at zero. */
const FIRST_DATE = '2000-01-01';
/** One for each zone: to make one takes milliseconds. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** YYYY-MM-DD, made of its parts: no locale guarantees a format. A year that needs a sign comes in UTC, to be refused. */
export function dateIn(timeZone: string, time: Date): string {
  const [inUtc = ''] = time.toISOString().split('T');
  if (inUtc < '0001-01-02' || inUtc > '9999-12-30') return inUtc;
  const format = formats.get(timeZone) ?? formatOf(timeZone);
  formats.set(timeZone, format);
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
  const { year = '', month = '', day = '' } = parts;
  return `${year.padStart(4, '0')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

/** What is wrong with a date. A pointer to a future one would block every night until then. */
export function dateProblem(date: string, today: string, timeZone: string): string | undefined {
  // A year that needs a sign is outside.
  if (/^\d{4}-/.test(date) && date >= FIRST_DATE && date <= today) return undefined;
  return `${date} is no date for an export: they go from ${FIRST_DATE} to today, ${today} in ${timeZone}.`;
}

/** The date in UTC, so many days after a time. */
export function dateAfter(time: string, days: number): string {
  return new Date(Date.parse(time) + days * 86_400_000).toISOString().slice(0, 10);
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
  });
}
