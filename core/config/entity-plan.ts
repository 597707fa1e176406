import type { EntityPlan, Settings } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';
import type { OpaqueKind } from './file-formats.ts';

export const PLAN_DEFAULTS = {
  columns: 'all',
  extra: {},
  enabled: true,
  opaque: [] as OpaqueKind[],
  guards: { maxShrink: 0.5, maxGrowth: 10, maxIrregularShare: 0.01 },
  drift: { added: 'warn', removed: 'warn', retyped: 'warn' },
} as const;

/** With all defaults; an entity that the configuration does not name exports all columns. */
export function entityPlan(settings: Settings, entity: Entity): EntityPlan {
  const plan: Settings['entities'][Entity] = settings.entities[entity] ?? PLAN_DEFAULTS;
  return { ...plan, polling: { ...settings.polling, ...plan.polling } };
}

/** Those whose published files become tables. */
export function tableEntities(settings: Settings): Entity[] {
  return ENTITIES.filter((entity) => entityPlan(settings, entity).tables !== undefined);
}
