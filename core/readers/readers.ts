import { feedEntities } from '../changes/feeds.ts';
import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Reader } from '../config/settings.ts';
import { settingsDigest } from '../config/settings-digest.ts';

/**
 * The tag by which readers may read a file and its manifest (docs/adr/0040). PublishFile sets it before a pointer names the file, and sets
 * `NOT_PUBLISHED` if none does in the end. `readers --tag` sets it for files that are published already.
 */
export const PUBLISHED_TAG = 'published';
export const NOT_PUBLISHED = 'false';

/**
 * The value of the tag for a file of an entity. It has a digest of the columns that are left out, so that a file with other columns is not
 * readable until somebody has looked at it.
 */
export function publishedValue(entity: Entity, { columns }: Pick<EntityPlan, 'columns'>): string {
  return `${entity}:${settingsDigest({ columns, tables: undefined })}`;
}

/** The principal as the configuration names it, without its kind. */
export function readerName({ principal }: Pick<Reader, 'principal'>): string {
  return typeof principal === 'string' ? principal : principal.organization;
}

export function kindOf(principal: Reader['principal']): 'organization' | 'role' | 'account' {
  if (typeof principal !== 'string') return 'organization';
  return principal.startsWith('arn:') ? 'role' : 'account';
}

/** The entities of a reader. */
export function entitiesOf({ entities }: Pick<Reader, 'entities'>): Entity[] {
  return entities === 'all' ? [...ENTITIES] : entities;
}

/** Entities whose published files somebody reads by their tag. */
export function sharedAsFiles({ readers }: Pick<Deployment, 'readers'>): Entity[] {
  const shared = readers.filter(({ of }) => of.includes('files')).flatMap(entitiesOf);
  return ENTITIES.filter((entity) => shared.includes(entity));
}

/** Keys of the bucket that a reader may read, as patterns of a policy. */
export interface ReadableKeys {
  /** Pointers, and tables with their feeds where it reads these. */
  plain: string[];
  /** Files and manifests: only those that have the tag. */
  tagged: string[];
}

/**
 * @param deployment knows which entities have feeds
 * @returns the patterns; the same ones limit what may be listed
 */
export function readableKeys(
  { entities, of }: Pick<Reader, 'entities' | 'of'>,
  deployment: Pick<Deployment, 'entities'>,
): ReadableKeys {
  const each = (...prefixes: string[]) =>
    (entities === 'all' ? ['*'] : entities).flatMap((entity) =>
      prefixes.map((prefix) => `${prefix}entity=${entity}/*`),
    );
  const withFeeds = feedEntities(deployment);
  const feeds =
    entities === 'all' ? withFeeds.slice(0, 1).map(() => '*') : withFeeds.filter((one) => entities.includes(one));
  // Feeds are in folders of dates. Beside them are the head, and copies of tables: those are for the functions alone.
  const tables = [...each('tables/', 'tables/v*/'), ...feeds.map((entity) => `changes/entity=${entity}/date=*`)];
  return {
    // The types of a column may have changed: then tables are in a folder for each version.
    plain: [...each('published/'), ...(of.includes('tables') ? tables : [])],
    tagged: of.includes('files') ? each('runs/') : [],
  };
}
