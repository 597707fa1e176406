import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { timingOf } from '../config/timing.ts';
import { DAY_MS, dateAfter, dateIn, instantOf } from '../schedule/local-time.ts';
import { nextStarts, type Start } from '../schedule/next-starts.ts';

/**
 * The entities of a night, each with its start: enabled entities with exactly one start on the date. An entity with
 * several starts a day, or with a schedule that counts from the creation of its rule (`rate(…)`), belongs to no night.
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

/** On the date of a clock change, an entity may have one start more or fewer than usual. */
const STARTS_COMPARED = 9;

/** Whether an entity belongs to nights: on most of its dates it has one start. */
export function isOfNights(deployment: Deployment, entity: Entity, from: Date): boolean {
  const starts = nextStarts(timingOf(deployment, entity), from, STARTS_COMPARED);
  if (!starts) return false;
  const dates = starts.map(({ date }) => date);
  const alone = dates.filter((date, index) => date !== dates[index - 1] && date !== dates[index + 1]);
  return alone.length * 2 >= dates.length;
}

/** Whether an entity has its own alarm: it belongs to no night, or the configuration sets its own `freshnessHours`. */
export function isWatchedAlone(deployment: Deployment, entity: Entity, from: Date): boolean {
  const { enabled, freshnessHours } = deployment.entities[entity];
  return enabled && (freshnessHours !== undefined || !isOfNights(deployment, entity, from));
}

/** The times at which a night begins and must be complete. */
export interface NightTimes {
  begins: Date;
  /** The latest deadline of the runs of the night. */
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

/** Every weekday, in two weeks half a year apart: winter time and summer time. */
const DAYS_COMPARED = [0, 182].flatMap((week) => [0, 1, 2, 3, 4, 5, 6].map((day) => week + day));

/**
 * Whether local midnight lies between the starts of one night, so that its entities have different dates. Two nights
 * are separated by the longest pause between starts.
 */
export function spansMidnight(deployment: Deployment, from: Date): boolean {
  return DAYS_COMPARED.some((days) => {
    const date = dateAfter(dateIn(deployment.timeZone, from), days);
    const midnight = instantOf(deployment.timeZone, date, '00:00').getTime();
    const times = [...startsOfNight(deployment, date).values()].map(({ at }) => at.getTime() - midnight);
    const sorted = times.sort((one, other) => one - other);
    const overMidnight = (sorted[0] ?? 0) + DAY_MS - (sorted.at(-1) ?? 0);
    return sorted.some((time, index) => time - (sorted[index - 1] ?? time) > overMidnight);
  });
}
