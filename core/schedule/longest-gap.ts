import { cronTimes } from './cron.ts';
import { nextStarts } from './next-starts.ts';
import type { Timing } from './timing.ts';

const DAY_MS = 86_400_000;
/** A year and more, in which every change of clocks lies. */
const STARTS_LOOKED_AT = 400;
const UNIT_DAYS: Record<string, number> = { minute: 1 / 1440, hour: 1 / 24, day: 1 };

/** The most days from one date with a start to the next, in UTC: the lifecycle counts such. At least 1. */
export function longestGapDays(timing: Timing, from: Date): number {
  const days = startDays(timing, from);
  const gaps = days.map((day, index) => day - (days[index - 1] ?? day));
  return Math.max(1, ...gaps, Math.ceil(rateDays(timing.expression)));
}

/** Days since 1970. */
function startDays(timing: Timing, from: Date): number[] {
  const { expression, at } = timing;
  const dayOf = (time: Date) => Math.floor(time.getTime() / DAY_MS);
  if (at !== null) return (nextStarts(timing, from, STARTS_LOOKED_AT) ?? []).map((start) => dayOf(start.at));
  const [, ofDay] = /^cron\(\S+ \S+ (.+)\)$/.exec(expression) ?? [];
  // One time on each of its days is enough: how often a day has a start tells nothing of the days between.
  return ofDay === undefined ? [] : cronTimes(`cron(0 0 ${ofDay})`, from, STARTS_LOOKED_AT).map(dayOf);
}

/** The days from one start of `rate(…)` to the next, of which a minute is a small part; 0 for another expression. */
export function rateDays(expression: string): number {
  const [, count, unit = ''] = /^rate\((\d+) ([a-z]+?)s?\)$/.exec(expression) ?? [];
  return Number(count ?? 0) * (UNIT_DAYS[unit] ?? 0);
}
