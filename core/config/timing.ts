import { START_UTC, type Timing } from '../schedule/timing.ts';
import { cronOf, minuteOf, offsetsFrom, timeOf, utcStartsOf } from '../schedule/utc-starts.ts';
import type { Deployment } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';

/** When the rule of an entity starts it: by its own schedule, or at its place in the night. */
export function timingOf(deployment: Deployment, entity: Entity): Timing {
  const { timeZone, zoneOffsets, nightly } = deployment;
  const { schedule, at: own } = deployment.entities[entity];
  if (schedule !== undefined) return { timeZone, expression: schedule, starts: dailyStart(schedule), at: null };
  const at = own ?? (nightly.at && inTheNight(deployment, entity, nightly.at));
  // UTC knows no summer time: a start at a time in UTC is one, and it counts.
  if (at === undefined || timeZone === 'UTC') {
    const starts = [at ?? inTheNight(deployment, entity, START_UTC)];
    return { timeZone, expression: cronOf(starts), starts, at: null };
  }
  const starts = utcStartsOf(at, zoneOffsets ?? offsetsNow(timeZone));
  return { timeZone, expression: cronOf(starts), starts, at };
}

/** The offsets of a time zone by the zone data of this machine, for this year and those to come. */
export function offsetsNow(timeZone: string): number[] {
  return offsetsFrom(new Date().getUTCFullYear(), timeZone);
}

/**
 * The hours without a published export after which an entity raises its alarm. `needed` by its deadline: the longest
 * night after the shortest, and an hour more.
 */
export function freshnessOf(deployment: Deployment, entity: Entity): { hours: number; needed: number } {
  const { polling, freshnessHours } = deployment.entities[entity];
  // A local day may have 25 hours.
  const longest = timingOf(deployment, entity).at === null ? 24 : 25;
  const needed = Math.max(longest + 2, longest + 1 + Math.ceil(polling.deadlineSeconds / 3600));
  return { hours: freshnessHours ?? deployment.alarms.freshnessHours ?? needed, needed };
}

/** "31 hours", or "31 to 35 hours, by entity". */
export function freshnessText(deployment: Deployment, entities: readonly Entity[]): string {
  const hours = entities.map((entity) => freshnessOf(deployment, entity).hours);
  const least = Math.min(...hours);
  const most = Math.max(...hours);
  return least === most ? `${least} hours` : `${least} to ${most} hours, by entity`;
}

/** The start of an entity in the night: some minutes after the entity before. */
function inTheNight({ nightly }: Deployment, entity: Entity, first: string): string {
  return timeOf(minuteOf(first) + ENTITIES.indexOf(entity) * nightly.spreadMinutes);
}

/** The time of an expression for every day at one time. */
function dailyStart(schedule: string): string[] | null {
  const [, minute, hour] = /^cron\((\d{1,2}) (\d{1,2}) (?:\*|\?) \* (?:\*|\?) \*\)$/.exec(schedule) ?? [];
  return minute === undefined ? null : [timeOf(Number(hour) * 60 + Number(minute))];
}
