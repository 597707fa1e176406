import type { Deployment, EntityPlan } from './deployment.ts';
import type { Entity } from './entities.ts';

export const PLAN_DEFAULTS = {
  columns: 'all',
  extra: {},
  enabled: true,
} as const;

/** With all defaults; an entity that the configuration does not name exports all columns. */
export function entityPlan(deployment: Deployment, entity: Entity): EntityPlan {
  const plan: Deployment['entities'][Entity] = deployment.entities[entity] ?? PLAN_DEFAULTS;
  return { ...plan, polling: { ...deployment.polling, ...plan.polling } };
}
