import { deploymentSchema } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { offsetsNow } from '../../core/config/timing.ts';
import { cronOf, minuteOf, timeOf, utcStartsOf } from '../../core/schedule/utc-starts.ts';
import type { Target } from '../support/target.ts';
import { CRM_OF_DEFAULTS, type NightlyPlan, nightlyPlanOf } from './nightly-plan.ts';
import { nightlyRules } from './rules.ts';

/** When the nightly runs are due, by the rules in the account: no configuration file is needed. */
export async function deployedPlan(target: Pick<Target, 'events' | 'stack' | 'TimeZone'>): Promise<NightlyPlan> {
  const { TimeZone: timeZone = 'UTC' } = target;
  const rules = await nightlyRules(target);
  const entities = ENTITIES.flatMap((entity): [Entity, object][] => {
    const { ScheduleExpression = '', State } = rules.get(entity) ?? {};
    // Of a rule that somebody deleted, the default counts: its night is missing.
    const start = ScheduleExpression === '' ? {} : startOf(ScheduleExpression, timeZone);
    return [[entity, { ...start, enabled: State !== 'DISABLED' }]];
  });
  return nightlyPlanOf(
    deploymentSchema.parse({ crm: CRM_OF_DEFAULTS, timeZone, entities: Object.fromEntries(entities) }),
  );
}

/** A start in local time has an expression that fires at each time that it may be in UTC. */
function startOf(expression: string, timeZone: string): { at: string } | { schedule: string } {
  const [, minutes = '', hours = ''] = /^cron\(([\d,]+) ([\d,]+) \* \* \? \*\)$/.exec(expression) ?? [];
  const times = hours.split(',').flatMap((hour) => minutes.split(',').map((minute) => `${hour}:${minute}`));
  if (times.length < 2) return { schedule: expression };
  const offsets = offsetsNow(timeZone);
  const local = times.flatMap((time) => offsets.map((offset) => timeOf(minuteOf(time) + offset + 24 * 60)));
  const at = local.find((time) => cronOf(utcStartsOf(time, offsets)) === expression);
  return at === undefined ? { schedule: expression } : { at };
}
