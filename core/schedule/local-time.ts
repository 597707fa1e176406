const DAY_MS = 86_400_000;
/** A cache by time zone, because creating a format takes milliseconds. */
const formats = new Map<string, Intl.DateTimeFormat>();
/** A cache by time zone and instant: a synthesis computes about 600 offsets of a zone, each at least seven times. */
const offsets = new Map<string, number>();
/** The most offsets in the cache: about 2 MB. */
const MOST_OFFSETS = 20_000;

/** YYYY-MM-DD, built from parts: no locale guarantees a format. In UTC for years outside 1 to 9999. */
export function dateIn(timeZone: string, time: Date): string {
  const [inUtc = ''] = time.toISOString().split('T');
  if (inUtc < '0001-01-02' || inUtc > '9999-12-30') return inUtc;
  const { year, month, day } = partsIn(timeZone, time.getTime());
  return `${year?.padStart(4, '0')}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}`;
}

/**
 * When clocks show a time on a date. If clocks are set back and show it twice, the first time counts. If clocks are
 * set forward and skip it, the time before the change counts on: 02:30 becomes 03:30.
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

/** The offset of local time from UTC in milliseconds. Only for years of four digits. */
export function offsetAt(timeZone: string, instant: number): number {
  const key = `${timeZone} ${instant}`;
  const offset = offsets.get(key) ?? offsetOf(timeZone, instant);
  if (offsets.size >= MOST_OFFSETS) offsets.clear();
  offsets.set(key, offset);
  return offset;
}

function offsetOf(timeZone: string, instant: number): number {
  const { year, month, day, hour, minute, second } = partsIn(timeZone, instant);
  const shown = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return shown - Math.floor(instant / 1000) * 1000;
}

function partsIn(timeZone: string, instant: number): Partial<Record<string, string>> {
  const format = formats.get(timeZone) ?? formatOf(timeZone);
  formats.set(timeZone, format);
  return Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]));
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}
