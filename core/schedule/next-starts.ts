import { cronTimes } from './cron.ts';
import { localStart } from './local-start.ts';
import { dateAfter, dateIn } from './local-time.ts';
import type { Start, Timing } from './timing.ts';

/** The next starts after a moment; `null` for `rate(…)`, which counts from when the rule was made. */
export function nextStarts(timing: Timing, after: Date, count: number): Start[] | null {
  const { timeZone, expression, starts, at } = timing;
  if (at !== null && starts) {
    const today = dateIn(timeZone, after);
    // The start of yesterday may be still to come, where it is late.
    const dates = Array.from({ length: count + 2 }, (_, index) => dateAfter(today, index - 1));
    const all = dates.map((date) => ({ at: localStart({ timeZone, starts, at }, date), date }));
    return all.filter((start) => start.at > after).slice(0, count);
  }
  if (!expression.startsWith('cron(')) return null;
  return cronTimes(expression, after, count).map((time) => ({ at: time, date: dateIn(timeZone, time) }));
}
