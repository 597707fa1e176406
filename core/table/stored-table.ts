import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { entitySchema } from '../config/entity-schema.ts';
import type { Bucket, ObjectHead } from '../storage/bucket.ts';

/** The keys of tables, and the metadata of their objects. */

/** Entities whose published files become tables. */
export function tableEntities({ entities }: Pick<Deployment, 'entities'>): Entity[] {
  return ENTITIES.filter((entity) => entities[entity].tables !== undefined);
}

/** The key of the table of a date. @param version 2 and later have their own folders, because a type has changed */
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

/**
 * The metadata of a table: the run that stored its file, the digest of its column settings, the identity of its rows,
 * and the number of values that the table leaves out, because they do not fit the types of their columns.
 */
interface AboutTable {
  run: string;
  settings: string;
  identity: string;
  misfits: string;
}

/** A header allows few characters, and the name of an execution may contain any. */
export const asMetadata = <T extends Pick<AboutTable, 'run'>>(about: T): T => ({
  ...about,
  run: encodeURIComponent(about.run),
});

/**
 * The table at a key; `undefined` if there is no table, or if its metadata differs from `wanted`.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function tableOfRun(
  bucket: Pick<Bucket, 'head'>,
  key: string,
  wanted: Partial<AboutTable> & Pick<AboutTable, 'run'>,
): Promise<({ key: string } & ObjectHead) | undefined> {
  const found = await bucket.head(key);
  const isWanted = Object.entries(asMetadata(wanted)).every(([name, value]) => found?.metadata[name] === value);
  return found && isWanted ? { key, ...found } : undefined;
}
