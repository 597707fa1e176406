import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { entitySchema } from '../config/entity-schema.ts';

/** Entities whose tables are compared from night to night. */
export function feedEntities({ entities }: Pick<Deployment, 'entities'>): Entity[] {
  return ENTITIES.filter((entity) => entities[entity].changes !== undefined);
}

/** The key prefix of an entity's feeds. */
export const feedsOf = (entity: Entity) => `changes/entity=${entity}/`;

/** The head of the chain: the table at which the last feed ended, and the pair that is being stored. */
export const headKey = (entity: Entity) => `${feedsOf(entity)}head.json`;

/** The copy of the table of a run, which feeds are made from. */
export const baseKey = (entity: Entity, run: string) => `${feedsOf(entity)}base/run=${encodeURIComponent(run)}.parquet`;

const folderOf = (entity: Entity, { date, run }: { date: string; run: string }) =>
  `${feedsOf(entity)}date=${date}/run=${encodeURIComponent(run)}/`;

/** The feed that ends at a run. */
export const feedKey = (entity: Entity, to: { date: string; run: string }) => `${folderOf(entity, to)}changes.parquet`;

/** The record of the feed that ends at a run. */
export const recordKey = (entity: Entity, to: { date: string; run: string }) => `${folderOf(entity, to)}_feed.json`;

const KEY =
  /^changes\/entity=([^/]+)\/(?:base\/run=[^/]+\.parquet|date=[^/]+\/run=[^/]+\/(changes\.parquet|_feed\.json))$/;

/** The kind of object at a key below `changes/`; `undefined` for any other key. */
export function feedObjectOfKey(key: string): { entity: Entity; kind: 'copy' | 'feed' | 'record' } | undefined {
  const [, name, file] = KEY.exec(key) ?? [];
  const entity = entitySchema.safeParse(name).data;
  return entity && { entity, kind: file === undefined ? 'copy' : file === '_feed.json' ? 'record' : 'feed' };
}
