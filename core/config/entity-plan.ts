import type { Deployment, EntityPlan } from './deployment.ts';
import type { Entity } from './entities.ts';

/** What holds for an entity, or a field of its plan, that the configuration does not name. */
export const PLAN_DEFAULTS = { columns: 'all', extra: {}, enabled: true } as const;

/** The plan of one entity, with every default filled in; an entity that the file does not name exports all columns. */
export function entityPlan(deployment: Deployment, entity: Entity): EntityPlan {
  const plan: Deployment['entities'][Entity] = deployment.entities[entity] ?? PLAN_DEFAULTS;
  return { ...plan, polling: { ...deployment.polling, ...plan.polling } };
}
