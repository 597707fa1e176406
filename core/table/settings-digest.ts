import { createHash } from 'node:crypto';
import { exceptedOf } from '../config/chosen-columns.ts';
import type { Deployment } from '../config/deployment.ts';
import { type Entity, entitySchema } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { canonicalText } from '../json.ts';
import { tableEntities } from './table-entities.ts';

/** How the settings are understood. To be raised when a release reads the same settings otherwise: then tables are written again. */
const RULES = 1;

/**
 * Says whether two tables were written under the same settings of what is readable, and names no column: 16 hexadecimal digits.
 * The order of the names does not matter.
 */
export function settingsDigest(plan: Pick<EntityPlan, 'columns' | 'tables'>): string {
  const sorted = (names: readonly string[] = []) => [...new Set(names)].sort();
  const { except, hash } = plan.tables ?? {};
  const decides = { rules: RULES, except: sorted(exceptedOf(plan)), tables: sorted(except), hash: sorted(hash) };
  return createHash('sha256').update(canonicalText(decides)).digest('hex').slice(0, 16);
}

/** Where the metadata of a table in S3 have the digest. */
export const SETTINGS_KEY = 'settings';

/** What the tables of an entity are written under. */
export interface DeployedTables {
  version: number;
  digest: string;
}

/** Outputs of the stack: the entities that have tables, and what these are written under (`leads:1:DIGEST contacts:2:DIGEST`). */
export function tableOutputs(deployment: Deployment): { TableEntities: string; TableSettings: string } {
  const entities = tableEntities(deployment);
  const told = entities.map((entity) => {
    const plan = deployment.entities[entity];
    return [entity, plan.tables?.version, settingsDigest(plan)].join(':');
  });
  return { TableEntities: entities.join(' '), TableSettings: told.join(' ') };
}

/** @param output `TableSettings`; empty where no entity has tables */
export function deployedTables(output: string): Map<Entity, DeployedTables> {
  const parts = output.split(' ').map((one) => one.split(':'));
  return new Map(
    parts.flatMap(([entity, version, digest = '']) => {
      const known = entitySchema.safeParse(entity).data;
      return known ? [[known, { version: Number(version), digest }] as const] : [];
    }),
  );
}
