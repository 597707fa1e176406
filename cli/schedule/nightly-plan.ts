import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { timingOf } from '../../core/config/timing.ts';
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
  };
}
