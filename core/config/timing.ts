import type { Timing } from '../schedule/timing.ts';
import { cronOf, minuteOf, offsetsFrom, timeOf, utcStartsOf } from '../schedule/utc-starts.ts';
import type { Deployment, Settings } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';
import { entityPlan } from './entity-plan.ts';

/** Of the first entity, where the configuration says nothing. */
export const START_UTC = '01:00';

/** When the rule of an entity starts it: by its own schedule, or at its place in the night. */
export function timingOf(deployment: Deployment, entity: Entity): Timing {
  const { timeZone, utcStarts } = deployment;
  const { schedule } = entityPlan(deployment, entity);
  const at = localTimeOf(deployment, entity);
  if (at !== null) {
    const starts = utcStarts?.[entity];
    if (!starts) throw new Error(`the starts of ${entity} were not listed when the configuration was read`);
    return { timeZone, expression: cronOf(starts), starts, at };
  }
  if (schedule !== undefined) return { timeZone, expression: schedule, starts: dailyStart(schedule), at };
  const starts = [inTheNight(deployment, entity, deployment.nightly.startUtc ?? START_UTC)];
  return { timeZone, expression: cronOf(starts), starts, at };
}

/** The times at which the rules of entities with a local time fire, by the zone data of this machine; nothing without any. */
export function utcStartsIn(settings: Settings, now: Date): Pick<Deployment, 'utcStarts'> {
  const local = ENTITIES.flatMap((entity) => {
    const at = localTimeOf(settings, entity);
    return at === null ? [] : [{ entity, at }];
  });
  if (local.length === 0) return {};
  const offsets = offsetsFrom(now.getUTCFullYear(), settings.timeZone);
  return { utcStarts: Object.fromEntries(local.map(({ entity, at }) => [entity, utcStartsOf(at, offsets)])) };
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
