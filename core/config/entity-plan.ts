import type { EntityPlan, Settings } from './deployment.ts';
import type { Entity } from './entities.ts';

export const PLAN_DEFAULTS = {
  columns: 'all',
  extra: {},
  enabled: true,
} as const;

/** With all defaults; an entity that the configuration does not name exports all columns. */
export function entityPlan(settings: Settings, entity: Entity): EntityPlan {
  const plan: Settings['entities'][Entity] = settings.entities[entity] ?? PLAN_DEFAULTS;
  return { ...plan, polling: { ...settings.polling, ...plan.polling } };
}
