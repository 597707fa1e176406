import type { Timing } from '../schedule/timing.ts';
import { cronOf, minuteOf, offsetsFrom, timeOf, utcStartsOf } from '../schedule/utc-starts.ts';
import type { Deployment, Settings } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';
import { entityPlan } from './entity-plan.ts';

/** Of the first entity, where the configuration says nothing. */
export const START_UTC = '01:00';

/** When the rule of an entity starts it: by its own schedule, or at its place in the night. */
export function timingOf(deployment: Deployment, entity: Entity): Timing {
  const { timeZone, zoneOffsets } = deployment;
  const { schedule } = entityPlan(deployment, entity);
  const at = localTimeOf(deployment, entity);
  if (at !== null) {
    const starts = utcStartsOf(at, zoneOffsets ?? offsetsNow(timeZone));
    return { timeZone, expression: cronOf(starts), starts, at };
  }
  if (schedule !== undefined) return { timeZone, expression: schedule, starts: dailyStart(schedule), at };
  const starts = [inTheNight(deployment, entity, deployment.nightly.startUtc ?? START_UTC)];
  return { timeZone, expression: cronOf(starts), starts, at };
}

/** The offsets of a time zone by the zone data of this machine, for this year and those to come. */
export function offsetsNow(timeZone: string): number[] {
  return offsetsFrom(new Date().getUTCFullYear(), timeZone);
}

/** `null` where the start is given in UTC. */
function localTimeOf(settings: Settings, entity: Entity): string | null {
  const { at, schedule } = entityPlan(settings, entity);
  if (at !== undefined || schedule !== undefined) return at ?? null;
  return settings.nightly.at === undefined ? null : inTheNight(settings, entity, settings.nightly.at);
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
