import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { offsetsNow, timingOf } from '../config/timing.ts';
import { dateAfter, dateIn, instantOf } from '../schedule/local-time.ts';
import { nextStarts, type Start } from '../schedule/next-starts.ts';

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

/** A few nights: one date of them may have a start more or less, where clocks change. */
const STARTS_LOOKED_AT = 9;

/** Whether an entity is a part of nights: most dates of its starts have one start. */
export function isOfNights(deployment: Deployment, entity: Entity, from: Date): boolean {
  const starts = nextStarts(timingOf(deployment, entity), from, STARTS_LOOKED_AT);
  if (!starts) return false;
  const dates = starts.map(({ date }) => date);
  const alone = dates.filter((date, index) => date !== dates[index - 1] && date !== dates[index + 1]);
  return alone.length * 2 >= dates.length;
}

/** Whether an entity has an alarm of its own: no night waits for it, or the configuration gives it hours of its own. */
export function isWatchedAlone(deployment: Deployment, entity: Entity, from: Date): boolean {
  const { enabled, freshnessHours } = deployment.entities[entity];
  return enabled && (freshnessHours !== undefined || !isOfNights(deployment, entity, from));
}

/** When a night begins, and when it is to be complete. */
export interface NightTimes {
  begins: Date;
  /** The latest deadline of its runs. */
  deadline: Date;
}

/** @returns `undefined` for a date without a night */
export function timesOfNight(deployment: Deployment, date: string): NightTimes | undefined {
  const starts = [...startsOfNight(deployment, date)];
  if (starts.length === 0) return undefined;
  const deadlines = starts.map(
    ([entity, { at }]) => at.getTime() + deployment.entities[entity].polling.deadlineSeconds * 1000,
  );
  const begins = starts.map(([, { at }]) => at.getTime());
  return { begins: new Date(Math.min(...begins)), deadline: new Date(Math.max(...deadlines)) };
}

/** Each day of a week, in two weeks half a year apart: clocks may be set otherwise. */
const DAYS_LOOKED_AT = [0, 182].flatMap((week) => [0, 1, 2, 3, 4, 5, 6].map((day) => week + day));
const DAY_MS = 86_400_000;

/**
 * Whether local midnight lies between the starts of one night: entities with different dates then begin within the same hours.
 * A night is what lies between the longest pauses of a day.
 */
export function spansMidnight(deployment: Deployment, from: Date): boolean {
  // To find them takes longer than all else here.
  const known = { ...deployment, zoneOffsets: deployment.zoneOffsets ?? offsetsNow(deployment.timeZone) };
  return DAYS_LOOKED_AT.some((days) => {
    const date = dateAfter(dateIn(deployment.timeZone, from), days);
    const midnight = instantOf(deployment.timeZone, date, '00:00').getTime();
    const times = [...startsOfNight(known, date).values()].map(({ at }) => at.getTime() - midnight);
    const sorted = times.sort((one, other) => one - other);
    const overMidnight = (sorted[0] ?? 0) + DAY_MS - (sorted.at(-1) ?? 0);
    return sorted.some((time, index) => time - (sorted[index - 1] ?? time) > overMidnight);
  });
}
