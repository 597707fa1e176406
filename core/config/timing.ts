import { START_UTC, type Timing } from '../schedule/timing.ts';
import { cronOf, minuteOf, offsetsFrom, timeOf, utcStartsOf } from '../schedule/utc-starts.ts';
import type { Deployment, Settings } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';
import { entityPlan } from './entity-plan.ts';

/** When the rule of an entity starts it: by its own schedule, or at its place in the night. */
export function timingOf(deployment: Deployment, entity: Entity): Timing {
  const { timeZone, zoneOffsets, nightly } = deployment;
  const { schedule, at: own } = entityPlan(deployment, entity);
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

/** Some minutes after the entity before. */
function inTheNight({ nightly }: Settings, entity: Entity, first: string): string {
  return timeOf(minuteOf(first) + ENTITIES.indexOf(entity) * nightly.spreadMinutes);
}

/** The time of an expression for every day at one time. */
function dailyStart(schedule: string): string[] | null {
  const [, minute, hour] = /^cron\((\d{1,2}) (\d{1,2}) (?:\*|\?) \* (?:\*|\?) \*\)$/.exec(schedule) ?? [];
  return minute === undefined ? null : [timeOf(Number(hour) * 60 + Number(minute))];
}
