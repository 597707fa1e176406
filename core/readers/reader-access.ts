import { feedEntities } from '../changes/feed-entities.ts';
import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Reader } from '../config/settings.ts';
import { settingsDigest } from '../config/settings-digest.ts';

/**
 * The tag that lets readers read a file and its manifest (docs/adr/0040). PublishFile sets it before a pointer names
 * the file. If no pointer names the file in the end, PublishFile sets `NOT_PUBLISHED`. `readers --tag` tags files that
 * were published before.
 */
export const PUBLISHED_TAG = 'published';
export const NOT_PUBLISHED = 'false';

/**
 * The value of the tag for a file of an entity. It contains a digest of the left-out columns: after the settings
 * change, readers cannot read the files until a person has checked them.
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

export function entitiesOf({ entities }: Pick<Reader, 'entities'>): Entity[] {
  return entities === 'all' ? [...ENTITIES] : entities;
}

/** Entities whose published files at least one reader reads by their tag. */
export function sharedAsFiles({ readers }: Pick<Deployment, 'readers'>): Entity[] {
  const shared = readers.filter(({ of }) => of.includes('files')).flatMap(entitiesOf);
  return ENTITIES.filter((entity) => shared.includes(entity));
}

/** Keys of the bucket that a reader may read, as patterns for a policy. */
export interface ReadableKeys {
  /** Pointers, and tables with their feeds if the reader reads tables. */
  plain: string[];
  /** Files and manifests: the policy allows only tagged ones. */
  tagged: string[];
}

/**
 * @param deployment shows which entities have feeds
 * @returns the patterns, which also limit what the reader may list
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
  // Feeds are in folders named by date. The head and the copies of tables, beside them, are for the functions only.
  const tables = [...each('tables/', 'tables/v*/'), ...feeds.map((entity) => `changes/entity=${entity}/date=*`)];
  return {
    // After the type of a column has changed, tables are in one folder per version.
    plain: [...each('published/'), ...(of.includes('tables') ? tables : [])],
    tagged: of.includes('files') ? each('runs/') : [],
  };
}
