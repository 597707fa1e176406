import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dateIn } from '../../core/export/logical-date.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

/** A start by a nightly rule, and the date that its run gets. */
export interface Start {
  at: Date;
  date: string;
}

/**
 * The newest nightly starts of an entity, oldest first, and the next one. Where clocks change, a date may have two starts
 * or none.
 * @param count of those up to now
 * @returns none for a schedule of its own
 */
export function startsOf({ startMinute, timeZone }: NightlyPlan, entity: Entity, now: Date, count: number): Start[] {
  const minute = startMinute[entity];
  if (minute === null) return [];
  const last = lastStart(minute, now);
  return Array.from({ length: count + 1 }, (_, index) => {
    const at = new Date(last + (index + 1 - count) * DAY_MS);
    return { at, date: dateIn(timeZone, at) };
  });
}

/** The dates of the runs of the night that began last, those due later included; none for a schedule of its own. */
export function nightOf({ startMinute, timeZone }: NightlyPlan, now: Date): Map<Entity, string> {
  const planned = ENTITIES.flatMap((entity) => {
    const minute = startMinute[entity];
    return minute === null ? [] : [{ entity, minute }];
  });
  const first = firstMinute(planned.map(({ minute }) => minute));
  const began = lastStart(first, now);
  const start = (minute: number) => new Date(began + minutesAfter(first, minute) * MINUTE_MS);
  return new Map(planned.map(({ entity, minute }) => [entity, dateIn(timeZone, start(minute))]));
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

/** The last time the clock stood at a minute of the day, in UTC. */
function lastStart(minute: number, now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const today = midnight + minute * MINUTE_MS;
  return today <= now.getTime() ? today : today - DAY_MS;
}
