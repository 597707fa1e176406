import type { Entity } from '../../core/config/entities.ts';
import { dateIn } from '../../core/export/logical-date.ts';
import type { NightlyPlan } from '../schedule/nightly-plan.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** A start by a nightly rule, and the date that its run gets. */
export interface Start {
  at: Date;
  date: string;
}

/**
 * The newest nightly starts of an entity, oldest first, and the one that comes next. Where clocks are changed a date may
 * have two of them, or none.
 * @param count of those up to now
 * @returns none for a rhythm of its own
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

/** The last time that the clock stood at a minute of the day, in UTC. */
function lastStart(minute: number, now: Date): number {
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const today = midnight + minute * MINUTE_MS;
  return today <= now.getTime() ? today : today - DAY_MS;
}
