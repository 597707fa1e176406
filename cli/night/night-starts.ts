import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { timingOf } from '../../core/config/timing.ts';
import { DAY_MS } from '../../core/schedule/local-time.ts';
import { nextStarts, type Start, type Timing } from '../../core/schedule/next-starts.ts';

/** The past starts of nights, according to the schedules. */

export const HOUR_MS = 60 * 60_000;

/** A night begins with its first start, and all starts of its date are within this time. */
const NIGHT_MS = 12 * HOUR_MS;

/** The newest date with a past start, and the latest possible time of a start in that night. */
export function lastNightOf(configured: Deployment, now: Date): { date: string; until: Date } | undefined {
  const enabled = ENTITIES.filter((entity) => configured.entities[entity].enabled);
  const starts = enabled.flatMap((entity) => lastStart(timingOf(configured, entity), now) ?? []);
  const date = lastOf(starts.map((start) => start.date));
  if (date === undefined) return undefined;
  const times = starts.filter((start) => start.date === date).map(({ at }) => at.getTime());
  return { date, until: new Date(Math.min(...times) + NIGHT_MS) };
}

/** The last date or time in the order of text. */
export function lastOf(times: string[]): string | undefined {
  return times.toSorted().at(-1);
}

/** How far back to search for the newest start. The shortest range is first, because most schedules are daily. */
const SEARCH_RANGES_DAYS = [3, 32, 400];

/** The newest start up to now, for rare schedules too. */
function lastStart(timing: Timing, now: Date): Start | undefined {
  for (const days of SEARCH_RANGES_DAYS) {
    const found = startsOf(timing, daysBefore(now, days), now).findLast(({ at }) => at <= now);
    if (found) return found;
  }
  return undefined;
}

/**
 * The time of the first start that the command needs. All requested nights and the newest start of every entity are
 * later.
 */
export function firstStartNeeded(configured: Deployment, now: Date, nights: number): Date {
  const newest = ENTITIES.flatMap((entity) => lastStart(timingOf(configured, entity), now)?.at ?? []);
  return new Date(Math.min(...newest.map((at) => daysBefore(at, 1).getTime()), daysBefore(now, nights + 1).getTime()));
}

function daysBefore(time: Date, days: number): Date {
  return new Date(time.getTime() - days * DAY_MS);
}

/** The starts after a time: those up to now, oldest first, and the next one; empty for `rate(…)`. */
export function startsOf(timing: Timing, from: Date, now: Date): Start[] {
  for (let count = 8; ; count *= 4) {
    const starts = nextStarts(timing, from, count) ?? [];
    const next = starts.findIndex(({ at }) => at > now);
    if (next >= 0) return starts.slice(0, next + 1);
    if (starts.length < count) return starts;
  }
}
