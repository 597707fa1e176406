import { deploymentSchema } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { cronOf, minuteOf, offsetsFrom, offsetsUntil, timeOf, utcStartsOf } from '../../core/schedule/utc-starts.ts';
import type { Target } from '../support/target.ts';
import { CRM_OF_DEFAULTS, type NightlyPlan, nightlyPlanOf } from './nightly-plan.ts';
import { nightlyRules } from './rules.ts';

/**
 * When the nightly runs are due, by the rules in the account: no configuration file is needed.
 * @param now the zone data of its year, and of those before it, says which local times the rules may stand for
 */
export async function deployedPlan(
  target: Pick<Target, 'events' | 'stack' | 'TimeZone'>,
  now: Date,
): Promise<NightlyPlan> {
  const { TimeZone: timeZone = 'UTC' } = target;
  const rules = await nightlyRules(target);
  const expressions = ENTITIES.map((entity) => rules.get(entity)?.ScheduleExpression ?? '');
  const zoneOffsets = offsetsOf(expressions, timeZone, now);
  const entities = ENTITIES.map((entity, index): [Entity, object] => {
    const expression = expressions[index] ?? '';
    // The default stands for a rule that somebody deleted: its night is missing.
    const start = expression === '' ? {} : startOf(expression, zoneOffsets);
    return [entity, { ...start, enabled: rules.get(entity)?.State !== 'DISABLED' }];
  });
  const settings = { crm: CRM_OF_DEFAULTS, timeZone, entities: Object.fromEntries(entities) };
  return nightlyPlanOf({ ...deploymentSchema.parse(settings), zoneOffsets });
}

/**
 * The offsets by which the rules of a stack were made. They are of the year of its last deployment: a zone whose clocks are
 * changed no more has fewer of them from then on.
 */
function offsetsOf(expressions: string[], timeZone: string, now: Date): number[] {
  const year = now.getUTCFullYear();
  const local = expressions.filter((expression) => timesOf(expression).length > 1);
  for (const offsets of local.length > 0 ? offsetsUntil(year, timeZone) : []) {
    if (local.some((expression) => localTimeOf(expression, offsets) !== undefined)) return offsets;
  }
  return offsetsFrom(year, timeZone);
}

function startOf(expression: string, offsets: number[]): { at: string } | { schedule: string } {
  const at = localTimeOf(expression, offsets);
  return at === undefined ? { schedule: expression } : { at };
}

/** A start in local time has an expression that fires at each time that it may be in UTC: several, or it is one in UTC as well. */
function localTimeOf(expression: string, offsets: number[]): string | undefined {
  const times = timesOf(expression);
  if (times.length < 2) return undefined;
  const local = times.flatMap((time) => offsets.map((offset) => timeOf(minuteOf(time) + offset + 24 * 60)));
  return local.find((time) => cronOf(utcStartsOf(time, offsets)) === expression);
}

/** The times of an expression for every day, `HH:MM`. */
function timesOf(expression: string): string[] {
  const [, minutes = '', hours = ''] = /^cron\(([\d,]+) ([\d,]+) \* \* \? \*\)$/.exec(expression) ?? [];
  return hours.split(',').flatMap((hour) => minutes.split(',').map((minute) => `${hour}:${minute}`));
}
