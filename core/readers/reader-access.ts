import { feedEntities } from '../changes/feed-keys.ts';
import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Reader } from '../config/settings.ts';
import { settingsDigest } from '../config/settings-digest.ts';

/**
 * A tag decides which objects readers may read (docs/adr/0040): files with their manifests, tables, and feeds with
 * their records. PublishFile sets it before a pointer names the file, and sets `NOT_PUBLISHED` if no pointer names the
 * file in the end. Tables and feeds are stored with it. `readers --tag` tags what was stored before.
 */
export const NOT_PUBLISHED = 'false';

/**
 * The value of the tag for a file of an entity. It contains a digest of the left-out columns: after the settings
 * change, readers cannot read the files until a person has checked them.
 */
export function publishedValue(entity: Entity, { columns }: Pick<EntityPlan, 'columns'>): string {
  return `${entity}:${settingsDigest({ columns, tables: undefined })}`;
}

/** The value of the tag for tables and feeds that were written under column settings with this digest. */
export function tableValue(entity: Entity, settings: string): string {
  return `${entity}/${settings}`;
}

/** The principal as the configuration names it, without its kind. */
export function readerName({ principal }: Pick<Reader, 'principal'>): string {
  return typeof principal === 'string' ? principal : principal.organization;
}

export function kindOf(principal: Reader['principal']): 'organization' | 'role' | 'account' {
  if (typeof principal !== 'string') return 'organization';
  return principal.startsWith('arn:') ? 'role' : 'account';
}

function entitiesOf({ entities }: Pick<Reader, 'entities'>): Entity[] {
  return entities === 'all' ? [...ENTITIES] : entities;
}

/** Entities of which at least one reader reads published files, or tables with feeds. */
export function sharedAs(what: Reader['of'][number], { readers }: Pick<Deployment, 'readers'>): Entity[] {
  const shared = readers.filter(({ of }) => of.includes(what)).flatMap(entitiesOf);
  return ENTITIES.filter((entity) => shared.includes(entity));
}

/** The objects that a reader may read, as patterns of keys for a policy. */
interface Readable {
  pointers: string[];
  /** The keys that the reader may list: pointers, and tables with their feeds if the reader reads tables. */
  listed: string[];
  /** The policy allows only objects whose tag has one of these values. */
  tagged: string[];
  values: string[];
}

/** @param deployment shows the column settings, and which entities have feeds */
export function readableBy(
  { entities, of }: Pick<Reader, 'entities' | 'of'>,
  deployment: Pick<Deployment, 'entities'>,
): Readable {
  const each = (prefix: string) =>
    (entities === 'all' ? ['*'] : entities).map((entity) => `${prefix}entity=${entity}/*`);
  const withFeeds = feedEntities(deployment);
  const feeds =
    entities === 'all' ? withFeeds.slice(0, 1).map(() => '*') : withFeeds.filter((one) => entities.includes(one));
  // After the type of a column has changed, tables are in one folder per version. Feeds are in folders named by date.
  const tables = [...each('tables/*'), ...feeds.map((entity) => `changes/entity=${entity}/date=*`)];
  const pointers = each('published/');
  return {
    pointers,
    listed: [...pointers, ...(of.includes('tables') ? tables : [])],
    tagged: each('*/'),
    values: entitiesOf({ entities }).flatMap((entity) => {
      const plan = deployment.entities[entity];
      const value = { files: publishedValue(entity, plan), tables: tableValue(entity, settingsDigest(plan)) };
      return of.map((kind) => value[kind]);
    }),
  };
}
