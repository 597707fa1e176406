import { offsetAt } from './local-time.ts';

const DAY_MINUTES = 24 * 60;
const WEEK_MS = 7 * 86_400_000;
/** Ahead of the year in which the rules are made: so long they hold. */
const YEARS = 10;

/** How many minutes clocks are ahead of UTC at one time or another, from a year on. */
export function offsetsFrom(year: number, timeZone: string): number[] {
  const first = Date.UTC(year, 0, 1);
  const weeks = Math.ceil((Date.UTC(year + YEARS + 1, 0, 1) - first) / WEEK_MS);
  const offsets = Array.from({ length: weeks }, (_, week) => offsetAt(timeZone, first + week * WEEK_MS) / 60_000);
  return sortedSet(offsets);
}

/**
 * Every time in UTC at which a rule for a local time fires: those that the local time has as clocks are set forward and back,
 * and what a single cron expression for all of them adds.
 * @param time `HH:MM`
 */
export function utcStartsOf(time: string, offsets: number[]): string[] {
  const exact = offsets.map((offset) => (minuteOf(time) - offset + DAY_MINUTES) % DAY_MINUTES);
  const minutes = sortedSet(exact.map((minute) => minute % 60));
  const hours = sortedSet(exact.map((minute) => Math.floor(minute / 60)));
  return hours.flatMap((hour) => minutes.map((minute) => timeOf(hour * 60 + minute)));
}

/** The expression of a rule that fires at these times, each hour of which has the same minutes. */
export function cronOf(starts: string[]): string {
  const minutes = sortedSet(starts.map((start) => minuteOf(start) % 60));
  const hours = sortedSet(starts.map((start) => Math.floor(minuteOf(start) / 60)));
  return `cron(${minutes.join()} ${hours.join()} * * ? *)`;
}

/** Minutes after midnight of `HH:MM`. */
export function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/** `HH:MM` so many minutes after midnight, of whatever day. */
export function timeOf(minute: number): string {
  return new Date((minute % DAY_MINUTES) * 60_000).toISOString().slice(11, 16);
}

function sortedSet(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
