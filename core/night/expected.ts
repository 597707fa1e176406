import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { timingOf } from '../config/timing.ts';
import { dateAfter, dateIn, instantOf } from '../schedule/local-time.ts';
import { nextStarts } from '../schedule/next-starts.ts';
import type { Start } from '../schedule/timing.ts';

/**
 * The start of each entity that the night of a date is made of: those that are enabled and have one start on it. What has
 * several starts a day, or counts from when its rule was made (`rate(…)`), is of no night.
 */
export function startsOfNight(deployment: Deployment, date: string): Map<Entity, Start> {
  const before = new Date(instantOf(deployment.timeZone, date, '00:00').getTime() - 1);
  const found = ENTITIES.flatMap((entity): [Entity, Start][] => {
    if (!deployment.entities[entity].enabled) return [];
    const starts = nextStarts(timingOf(deployment, entity), before, 2) ?? [];
    const [start, ...others] = starts.filter((each) => each.date === date);
    return start && others.length === 0 ? [[entity, start]] : [];
  });
  return new Map(found);
}

/** Half a year apart: clocks may be set otherwise. */
const DAYS_LOOKED_AT = [0, 182];
const DAY_MS = 86_400_000;

/**
 * Whether local midnight lies between the starts of one night: entities with different dates then begin within the same hours.
 * A night is what lies between the longest pauses of a day.
 */
export function spansMidnight(deployment: Deployment, from: Date): boolean {
  return DAYS_LOOKED_AT.some((days) => {
    const date = dateAfter(dateIn(deployment.timeZone, from), days);
    const midnight = instantOf(deployment.timeZone, date, '00:00').getTime();
    const times = [...startsOfNight(deployment, date).values()].map(({ at }) => at.getTime() - midnight);
    const sorted = times.sort((one, other) => one - other);
    const overMidnight = (sorted[0] ?? 0) + DAY_MS - (sorted.at(-1) ?? 0);
    return sorted.some((time, index) => time - (sorted[index - 1] ?? time) > overMidnight);
  });
}
