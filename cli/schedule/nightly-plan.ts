import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dependsOnDate } from '../../core/config/relative-date.ts';
import { timingOf } from '../../core/config/timing.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import type { Timing } from '../../core/schedule/timing.ts';

/** When the nightly runs are due. */
export interface NightlyPlan {
  /** The zone in which a run gets its date. */
  timeZone: string;
  /** When the rules start each. */
  timing: Record<Entity, Timing>;
  /** Whether the rule is switched on by the configuration. */
  enabled: Record<Entity, boolean>;
  /** A run gives up so long after its start. */
  deadlineSeconds: Record<Entity, number>;
  /** Whether the filters select other records for another date. */
  dated: Record<Entity, boolean>;
}

/** The plan of a configuration. */
export function nightlyPlanOf(deployment: Deployment): NightlyPlan {
  const each = <T>(of: (entity: Entity) => T) =>
    Object.fromEntries(ENTITIES.map((entity) => [entity, of(entity)])) as Record<Entity, T>;
  return {
    timeZone: deployment.timeZone,
    timing: each((entity) => timingOf(deployment, entity)),
    enabled: each((entity) => deployment.entities[entity].enabled),
    deadlineSeconds: each((entity) => deployment.entities[entity].polling.deadlineSeconds),
    dated: each((entity) => isDated(deployment, entity)),
  };
}

/** Whether the plan of an entity selects other records for another date. @param deployment as configured, or as deployed */
export function isDated({ entities }: Deployment, entity: Entity): boolean {
  const { filters = [] } = entities[entity];
  return dependsOnDate(filters) || filters.some((filter) => filter.dependsOnDate === true);
}

/**
 * The start that makes up for a missed date. Only a plan with dates can still give the records of a past date; any other
 * gives those of today.
 */
export function startText(entities: Entity[], date: string, { dated, timeZone }: NightlyPlan, now: Date): string {
  const isGiven = date >= dateIn(timeZone, now) || entities.every((entity) => dated[entity]);
  return `start ${entities.join(' ')}${isGiven ? ` --date ${date}` : ''}`;
}
