import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { offsetAt } from '../../core/schedule/local-time.ts';
import { nextStarts } from '../../core/schedule/next-starts.ts';
import type { Start, Timing } from '../../core/schedule/timing.ts';
import { minuteOf } from '../../core/schedule/utc-starts.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MINUTES = 24 * 60;
const DAY_MS = 24 * HOUR_MS;

/**
 * The newest nightly starts of an entity, oldest first, and the next one. Where clocks change, a date may have two starts
 * or none if they are given in UTC.
 * @param count of those up to now
 * @returns none for a schedule that is not once a day
 */
export function startsOf({ timing }: NightlyPlan, entity: Entity, now: Date, count: number): Start[] {
  if (timing[entity].starts === null) return [];
  const from = new Date(now.getTime() - (count + 1) * DAY_MS);
  const starts = nextStarts(timing[entity], from, count + 3) ?? [];
  const next = starts.findIndex(({ at }) => at > now);
  return starts.slice(Math.max(0, next - count), next + 1);
}

/** The dates of the runs of the night that began last, those due later included; none for a schedule of its own. */
export function nightOf(plan: NightlyPlan, now: Date): Map<Entity, string> {
  const planned = ENTITIES.flatMap((entity) => {
    const minute = localMinute(plan.timing[entity], now);
    return minute === null ? [] : [{ entity, minute }];
  });
  const first = firstMinute(planned.map(({ minute }) => minute));
  const [began] = planned.flatMap(({ entity, minute }) => (minute === first ? startsOf(plan, entity, now, 1) : []));
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
