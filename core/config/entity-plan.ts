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

type Columns = Pick<EntityPlan, 'columns'>;
type Chosen = Extract<EntityPlan['columns'], { except?: unknown }>;

/** All that is configured of the columns, as an object. */
export function chosenOf({ columns }: Columns): Chosen {
  if (Array.isArray(columns)) return { only: columns };
  return columns === 'all' ? {} : columns;
}

/** The list of columns that are requested; `undefined`: all. */
export function onlyOf(plan: Columns): string[] | undefined {
  return chosenOf(plan).only;
}

/** Columns without which the configuration wants no export. */
export function requiredOf(plan: Columns): string[] {
  return chosenOf(plan).required ?? [];
}

/** Texts of headers, and the fields that they name. */
export function labelsOf(plan: Columns): Readonly<Record<string, string>> {
  return chosenOf(plan).labels ?? {};
}

/** Files have no header: all of their records are rows. */
export function isHeaderless(plan: Columns): boolean {
  return chosenOf(plan).header === 'none';
}
