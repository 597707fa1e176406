import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { offsetAt } from '../../core/schedule/local-time.ts';
import { nextStarts } from '../../core/schedule/next-starts.ts';
import type { Start, Timing } from '../../core/schedule/timing.ts';
import { minuteOf } from '../../core/schedule/utc-starts.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MINUTES = 24 * 60;
const DAY_MS = 24 * HOUR_MS;
/** How far back the newest start is looked for: most are daily. */
const LOOKED_BACK_DAYS = [3, 32, 400];

/**
 * The nightly starts of an entity after a time: those up to now, oldest first, and the next one. Where clocks change, a date may
 * have two starts or none if they are given in UTC.
 * @returns none for `rate(…)`, which counts from when the rule was made
 */
export function startsOf(timing: Timing, from: Date, now: Date): Start[] {
  for (let count = 8; ; count *= 4) {
    const starts = nextStarts(timing, from, count) ?? [];
    const next = starts.findIndex(({ at }) => at > now);
    if (next >= 0) return starts.slice(0, next + 1);
    if (starts.length < count) return starts;
  }
}

/** The newest start up to now, however rare they are. */
function lastStart(timing: Timing, now: Date): Start | undefined {
  for (const days of LOOKED_BACK_DAYS) {
    const found = startsOf(timing, daysBefore(now, days), now).findLast(({ at }) => at <= now);
    if (found) return found;
  }
  return undefined;
}

/** From when on the nights that are looked at have their starts, and every entity its newest. */
export function lookedBackTo({ timing }: NightlyPlan, now: Date, nights: number): Date {
  const newest = ENTITIES.flatMap((entity) => lastStart(timing[entity], now)?.at ?? []);
  return new Date(
    Math.min(...[now, ...newest].map((at) => daysBefore(at, 1).getTime()), daysBefore(now, nights + 1).getTime()),
  );
}

function daysBefore(time: Date, days: number): Date {
  return new Date(time.getTime() - days * DAY_MS);
}

/** The dates of the runs of the night that began last, those due later included; none for a schedule of its own. */
export function nightOf(plan: NightlyPlan, now: Date): Map<Entity, string> {
  const planned = ENTITIES.flatMap((entity) => {
    const minute = localMinute(plan.timing[entity], now);
    return minute === null ? [] : [{ entity, minute }];
  });
  const first = firstMinute(planned.map(({ minute }) => minute));
  const [began] = planned.flatMap(({ entity, minute }) =>
    minute === first ? (lastStart(plan.timing[entity], now) ?? []) : [],
  );
  // Where clocks are set forward, one that is due first may start after the next.
  const from = new Date((began?.at.getTime() ?? 0) - HOUR_MS - 1);
  return new Map(
    planned.flatMap(({ entity }) => {
      const [start] = nextStarts(plan.timing[entity], from, 1) ?? [];
      return start ? [[entity, start.date] as const] : [];
    }),
  );
}

/** The minute of the day at which clocks show the start; `null` for a schedule that is not once a day. */
function localMinute({ timeZone, starts, at }: Timing, now: Date): number | null {
  const [utc] = starts ?? [];
  if (at !== null) return minuteOf(at);
  const offset = Math.round(offsetAt(timeZone, now.getTime()) / 60_000);
  return utc === undefined ? null : (minuteOf(utc) + offset + DAY_MINUTES) % DAY_MINUTES;
}

/** A night begins behind the longest time of the day without a start. */
function firstMinute(minutes: number[]): number {
  const sorted = [...new Set(minutes)].sort((a, b) => a - b);
  const gaps = sorted.map((minute, index) => minutesAfter(sorted.at(index - 1) ?? minute, minute) || DAY_MINUTES);
  return sorted[gaps.indexOf(Math.max(...gaps))] ?? 0;
}

function minutesAfter(minute: number, later: number): number {
  return (later - minute + DAY_MINUTES) % DAY_MINUTES;
}
