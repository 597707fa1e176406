const DAY_MS = 86_400_000;
/** One for each zone: to make one takes milliseconds. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** YYYY-MM-DD, made of its parts: no locale guarantees a format. A year that needs a sign comes in UTC, to be refused. */
export function dateIn(timeZone: string, time: Date): string {
  const [inUtc = ''] = time.toISOString().split('T');
  if (inUtc < '0001-01-02' || inUtc > '9999-12-30') return inUtc;
  const { year, month, day } = partsIn(timeZone, time.getTime());
  return `${year?.padStart(4, '0')}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}`;
}

/**
 * When clocks show a time of a date: the first time that they do, for they are set back now and then. A time that they leave
 * out is counted on from before they are set forward: 02:30 becomes 03:30.
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

/** The date in UTC, so many days after a time. */
export function dateAfter(time: string, days: number): string {
  return new Date(Date.parse(time) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Milliseconds that clocks are ahead of UTC. For years of four digits. */
export function offsetAt(timeZone: string, instant: number): number {
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
