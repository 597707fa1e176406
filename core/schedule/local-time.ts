export const DAY_MS = 86_400_000;
/** A cache by time zone, because creating a format takes milliseconds. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** The date that clocks show at a time: YYYY-MM-DD in years of four digits. */
export function dateIn(timeZone: string, time: Date): string {
  const instant = time.getTime();
  const [date = ''] = new Date(instant + offsetAt(timeZone, instant)).toISOString().split('T');
  return date;
}

/**
 * When clocks show a time on a date. If clocks are set back and show it twice, the first time counts. If clocks are set
 * forward and skip it, the offset before the change applies: 02:30 becomes 03:30.
 * @param time `HH:MM`
 */
export function instantOf(timeZone: string, date: string, time: string): Date {
  const wall = Date.parse(`${date}T${time}Z`);
  const before = wall - offsetAt(timeZone, wall - DAY_MS);
  const after = wall - offsetAt(timeZone, wall + DAY_MS);
  if (before === after) return new Date(before);
  const shown = [before, after].filter((instant) => instant + offsetAt(timeZone, instant) === wall);
  return new Date(shown.length > 0 ? Math.min(...shown) : before);
}

/** The UTC date a number of days after a time. */
export function dateAfter(time: string, days: number): string {
  return new Date(Date.parse(time) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The offset of local time from UTC in milliseconds. */
export function offsetAt(timeZone: string, instant: number): number {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  formats.set(timeZone, format);
  // It ends with `GMT`, `GMT+02:00` or, in the years before zones had whole minutes, `GMT+02:20:54`.
  const [, sign, ...parts] = /([+-])(\d\d):(\d\d):?(\d\d)?$/.exec(format.format(instant)) ?? [];
  const [hours = 0, minutes = 0, seconds = 0] = parts.map((part = '0') => Number(part));
  return (sign === '-' ? -1 : 1) * ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
