import { type Entity, entitySchema } from '../../config/entities.ts';

/** What the objects of an entity's feeds begin with. */
export const feedsOf = (entity: Entity) => `changes/entity=${entity}/`;

/** Where the feeds stand: the table that the last one ended at, and what is under way. */
export const headKey = (entity: Entity) => `${feedsOf(entity)}head.json`;

/** The copy of the table of a run, which feeds are made of. */
export const baseKey = (entity: Entity, run: string) => `${feedsOf(entity)}base/run=${encodeURIComponent(run)}.parquet`;

const folderOf = (entity: Entity, { date, run }: { date: string; run: string }) =>
  `${feedsOf(entity)}date=${date}/run=${encodeURIComponent(run)}/`;

/** The feed that ends at a run. */
export const feedKey = (entity: Entity, to: { date: string; run: string }) => `${folderOf(entity, to)}changes.parquet`;

/** What is said of the feed that ends at a run. */
export const recordKey = (entity: Entity, to: { date: string; run: string }) => `${folderOf(entity, to)}_feed.json`;

const RECORD = /^changes\/entity=([^/]+)\/date=(\d{4}-\d\d-\d\d)\/run=([^/]+)\/_feed\.json$/;

/** The feed whose record a key names; `undefined` where it names none. */
export function feedOfKey(key: string): { entity: Entity; date: string; run: string } | undefined {
  const [, name, date = '', run = ''] = RECORD.exec(key) ?? [];
  const entity = entitySchema.safeParse(name).data;
  return entity && { entity, date, run: decodeURIComponent(run) };
}
