import { DAY_MS, offsetAt } from '../schedule/local-time.ts';
import { START_UTC, type Timing } from '../schedule/next-starts.ts';
import type { Deployment } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';

/** When the rule of an entity starts its run: by its own schedule, or at its place in the nightly order. */
export function timingOf(deployment: Deployment, entity: Entity): Timing {
  const { timeZone, zoneOffsets, nightly } = deployment;
  const { schedule, at: own } = deployment.entities[entity];
  if (schedule !== undefined) return { timeZone, expression: schedule, starts: dailyStart(schedule), at: null };
  const at = own ?? (nightly.at && inTheNight(deployment, entity, nightly.at));
  // UTC has no summer time, so a time in UTC has exactly one start a day.
  if (at === undefined || timeZone === 'UTC') {
    const starts = [at ?? inTheNight(deployment, entity, START_UTC)];
    return { timeZone, expression: cronOf(starts), starts, at: null };
  }
  const starts = utcStartsOf(at, zoneOffsets ?? offsetsFrom(timeZone));
  return { timeZone, expression: cronOf(starts), starts, at };
}

/**
 * The hours without a published export after which an entity raises its alarm. With fewer than `needed` hours, a good
 * night could raise it: one that ends at its deadline, after one that ended at once.
 */
export function freshnessOf(deployment: Deployment, entity: Entity): { hours: number; needed: number } {
  const { polling, freshnessHours } = deployment.entities[entity];
  // A local day may have 25 hours.
  const longest = timingOf(deployment, entity).at === null ? 24 : 25;
  const needed = Math.max(longest + 2, longest + 1 + Math.ceil(polling.deadlineSeconds / 3600));
  return { hours: freshnessHours ?? deployment.alarms.freshnessHours ?? needed, needed };
}

/** The start of an entity in the nightly order, `spreadMinutes` after the entity before it. */
function inTheNight({ nightly }: Deployment, entity: Entity, first: string): string {
  return timeOf(minuteOf(first) + ENTITIES.indexOf(entity) * nightly.spreadMinutes);
}

/** The time of an expression that fires once every day, else `null`. */
function dailyStart(schedule: string): string[] | null {
  const [, minute, hour] = /^cron\((\d{1,2}) (\d{1,2}) [*?] \* [*?] \*\)$/.exec(schedule) ?? [];
  return minute === undefined ? null : [timeOf(Number(hour) * 60 + Number(minute))];
}

const DAY_MINUTES = 24 * 60;
const WEEK_MS = 7 * DAY_MS;
/** The rules are correct for this many years after they are made. */
const YEARS = 10;

/** All offsets from UTC in minutes that a time zone has from a year on, by the zone data of this machine. */
export function offsetsFrom(timeZone: string, year = new Date().getUTCFullYear()): number[] {
  const first = Date.UTC(year, 0, 1);
  const weeks = Math.ceil((Date.UTC(year + YEARS + 1, 0, 1) - first) / WEEK_MS);
  const offsets = Array.from({ length: weeks }, (_, week) => offsetAt(timeZone, first + week * WEEK_MS) / 60_000);
  return sortedSet(offsets);
}

/**
 * Every UTC time at which a rule for a local time fires: one for each offset of the time zone, and the further times
 * that a single cron expression for all of them includes.
 * @param time `HH:MM`
 */
export function utcStartsOf(time: string, offsets: number[]): string[] {
  const exact = offsets.map((offset) => (minuteOf(time) - offset + DAY_MINUTES) % DAY_MINUTES);
  const minutes = sortedSet(exact.map((minute) => minute % 60));
  const hours = sortedSet(exact.map((minute) => Math.floor(minute / 60)));
  return hours.flatMap((hour) => minutes.map((minute) => timeOf(hour * 60 + minute)));
}

/** The expression of a rule that fires at these times. Each hour has the same minutes. */
export function cronOf(starts: string[]): string {
  const minutes = sortedSet(starts.map((start) => minuteOf(start) % 60));
  const hours = sortedSet(starts.map((start) => Math.floor(minuteOf(start) / 60)));
  return `cron(${minutes.join()} ${hours.join()} * * ? *)`;
}

/** Minutes after midnight of `HH:MM`. */
function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/** The time `HH:MM` of a number of minutes after midnight. Whole days are dropped. */
function timeOf(minute: number): string {
  return new Date((minute % DAY_MINUTES) * 60_000).toISOString().slice(11, 16);
}

function sortedSet(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
