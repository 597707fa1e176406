import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { entitySchema } from '../config/entity-schema.ts';

/** Entities whose published files become tables. */
export function tableEntities({ entities }: Pick<Deployment, 'entities'>): Entity[] {
  return ENTITIES.filter((entity) => entities[entity].tables !== undefined);
}

/** The key of the table of a date. @param version each from 2 on has its own folder: a column's type has changed */
export function tableKey(entity: Entity, date: string, version: number): string {
  return `${tablesOf(entity, version)}date=${date}/${entity}.parquet`;
}

/** The prefix of all tables of an entity. A folder for each date follows. */
export function tablesOf(entity: Entity, version: number): string {
  return `tables/${version === 1 ? '' : `v${version}/`}entity=${entity}/`;
}

const KEY = /^tables\/(?:v(\d+)\/)?entity=([^/]+)\/date=(\d{4}-\d\d-\d\d)\/[^/]+\.parquet$/;

/** Parses the key of a table; `undefined` for any other key. */
export function tableOfKey(key: string): { entity: Entity; date: string; version: number } | undefined {
  const [, version = '1', name, date = ''] = KEY.exec(key) ?? [];
  const entity = entitySchema.safeParse(name).data;
  return entity && { entity, date, version: Number(version) };
}
