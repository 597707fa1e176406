import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { timingOf } from '../../core/config/timing.ts';
import { cronTimes } from '../../core/schedule/cron.ts';
import { dateAfter, dateIn, instantOf } from '../../core/schedule/local-time.ts';
import { isSchedule } from '../../core/schedule/schedule-expression.ts';
import { type Finding, holds, warning } from '../checks/finding.ts';

/** The days are more than a year: every change of the clocks is in them. */
const DAYS = 400;

interface LocalStart {
  entity: Entity;
  at: string;
  timeZone: string;
}

/**
 * Whether the rules start entities with a local time when that is due. Governments change their clocks: the zone data of this
 * machine may be newer than that of the deployment. Nothing where no start is local.
 * @param schedules of the rules in the account
 */
export async function localStarts(
  schedules: () => Promise<Map<Entity, string>>,
  deployment: Deployment,
  now: Date,
): Promise<Finding[]> {
  const local = ENTITIES.flatMap((entity): LocalStart[] => {
    const { at, timeZone } = timingOf(deployment, entity);
    return at === null ? [] : [{ entity, at, timeZone }];
  });
  return local.length === 0 ? [] : [judged(local, await schedules(), now)];
}

function judged(local: LocalStart[], expressions: Map<Entity, string>, now: Date): Finding {
  const unlike = local.flatMap((start) => {
    const missed = firstMissed(start, expressions.get(start.entity) ?? '', now);
    return missed ? [`${start.entity} from ${missed.date} on (${start.at} is ${missed.utc} UTC)`] : [];
  });
  const zone = `${local[0]?.timeZone} by the zone data of this machine (${process.versions.tz})`;
  if (unlike.length === 0) return holds(`The rules fire at the local times of ${local.length} entities in ${zone}.`);
  const what = `The rules do not fire at the local times of ${unlike.join(', ')} in ${zone}.`;
  const advice =
    'Such a night starts at the nearest time of its rule. Deploy again from a machine whose Node.js has the newest zone data.';
  return warning(what, advice);
}

/** The first date on which a rule does not fire when the local time is due. */
function firstMissed({ at, timeZone }: LocalStart, expression: string, now: Date) {
  const cron = isSchedule(expression) && expression.startsWith('cron(');
  // Two starts a day, or four where clocks change by half an hour.
  const fired = new Set((cron ? cronTimes(expression, now, 5 * DAYS) : []).map((time) => time.getTime()));
  const tomorrow = dateAfter(dateIn(timeZone, now), 1);
  for (let days = 0; days < DAYS; days += 1) {
    const date = dateAfter(tomorrow, days);
    const due = instantOf(timeZone, date, at);
    if (!fired.has(due.getTime())) return { date, utc: due.toISOString().slice(11, 16) };
  }
  return undefined;
}
