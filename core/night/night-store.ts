import { isDeepStrictEqual } from 'node:util';
import { feedKey } from '../changes/feed-keys.ts';
import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';
import { eachOf } from '../each-of.ts';
import { RunError } from '../errors.ts';
import { LAYOUT } from '../export/layout.ts';
import { readManifest } from '../export/manifest.ts';
import { datePointerKey, manifestKeyOf, readPointer } from '../export/pointer.ts';
import { type Bucket, writeOver } from '../storage/bucket.ts';
import { isWriteConflict } from '../storage/storage-errors.ts';
import { tableKey, tableOfRun } from '../table/stored-table.ts';
import {
  completeKey,
  type EntityOfNight,
  lackingIn,
  type Night,
  nightKey,
  nightText,
  readNight,
} from './night-record.ts';
import { startsOfNight } from './night-schedule.ts';

export interface NightDeps {
  bucket: Pick<Bucket, 'read' | 'putOnce' | 'replace' | 'head'>;
  deployment: Deployment;
}

/** The storage of a night. Each method throws RunError `StorageConflict`, `StorageDenied` or `StorageUnavailable`. */
export type NightStore = ReturnType<typeof nightStore>;

export function nightStore(date: string, { bucket, deployment }: NightDeps) {
  const tablesOf = (entity: Entity) => deployment.entities[entity].tables;

  /** The published file. The file of a partial run does not count for the night. */
  const fileOf = async (entity: Entity, recorded: EntityOfNight['file']): Promise<EntityOfNight['file']> => {
    const { run: pointer } = await readPointer(bucket, datePointerKey(entity, date));
    if (!pointer || pointer.kind === 'partial') return null;
    const run = pointer.execution;
    // A manifest never changes, so its record is still right.
    if (recorded?.run === run) return recorded;
    const manifestKey = manifestKeyOf(entity, run);
    const manifest = await readManifest(bucket, manifestKey);
    if (!manifest) return null;
    const { key, rows, bytes, crc32 } = manifest.file;
    return { run, manifestKey, key, rows, bytes, crc32 };
  };

  /** The table of a run: under today's table version, or under the version when the night began. */
  const tableOf = async (entity: Entity, version: number | null, run: string): Promise<EntityOfNight['table']> => {
    if (version === null) return null;
    for (const each of new Set([tablesOf(entity)?.version ?? version, version])) {
      const key = tableKey(entity, date, each);
      const table = await tableOfRun(bucket, key, { run });
      if (table) return { key, etag: table.etag };
    }
    return null;
  };

  /** The feed that ends at a run; `null` for an entity without feeds. */
  const feedOf = async (entity: Entity, run: string): Promise<EntityOfNight['feed']> => {
    const key = feedKey(entity, { date, run });
    const feed = deployment.entities[entity].changes && (await bucket.head(key));
    return feed ? { key, etag: feed.etag } : null;
  };

  return {
    date,
    /** The entities of the night by today's configuration. */
    expected: (): Waited =>
      new Map([...startsOfNight(deployment, date).keys()].map((entity) => [entity, tablesOf(entity)?.version ?? null])),
    /** Whether today's configuration writes the tables of an entity. */
    writesTables: (entity: Entity) => tablesOf(entity) !== undefined,
    read: () => readNight(bucket, date),
    /** @param recorded the entity in the stored night */
    find: async (entity: Entity, tableVersion: number | null, recorded: EntityOfNight | undefined): Promise<Found> => {
      const file = await fileOf(entity, recorded?.file ?? null);
      if (!file) return { file, table: null, feed: null };
      const table = await tableOf(entity, tableVersion, file.run);
      return { file, table, feed: await feedOf(entity, file.run) };
    },
    /** `false` if another run has written the night since it was read. */
    write: (night: Night, etag: string | undefined) =>
      unlessConflict(() => writeOver(bucket, nightKey(date), nightText(night), etag)),
    /** Writes the revision of a complete night, once; `false` if another run is writing it at this moment. */
    announce: (night: Night) =>
      // An object at this key is the same revision, so an existing one counts as success.
      unlessConflict(() => bucket.putOnce(completeKey(night), nightText(night)).then(() => true)),
  };
}

/** `false` if another conditional write of the key is under way. */
async function unlessConflict(write: () => Promise<boolean>): Promise<boolean> {
  try {
    return await write();
  } catch (error) {
    if (isWriteConflict(error)) return false;
    throw error;
  }
}

/** The entities of a night, each with the table version that the night waits for; `null`: it waits for no table. */
type Waited = ReadonlyMap<Entity, number | null>;

/** The objects in the bucket for an entity and a date. */
type Found = Pick<EntityOfNight, 'file' | 'table' | 'feed'>;

/** A run that ended in an error. */
export interface Failure {
  entity: Entity;
  error: string;
}

/**
 * The most rounds of reading and writing. A round fails only if another run writes first. Seven runs may end at the
 * same moment, and each may be repeated.
 */
const ROUNDS = 20;

/**
 * Writes the state of a night. The function reads the stored night before the pointers, and its write is conditional.
 * So the run that writes last has seen the results of all others (docs/adr/0042).
 * @param failure of the run that has ended; `undefined` if it succeeded, or if no run has ended
 * @returns the night as it is stored; `undefined` if there is neither a file nor a failed run
 * @throws RunError `StorageConflict`, `StorageDenied`, `StorageUnavailable`
 */
export async function recordNight(store: NightStore, failure?: Failure): Promise<Night | undefined> {
  const { date } = store;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { night: standing, etag } = await store.read();
    const waited = standing ? waitedBy(standing) : store.expected();
    const found = await eachOf([...waited], async ([entity, version]) => {
      return [entity, await markedOf(store, [entity, version], standing, failure)] as const;
    });
    // Entities that only a later release knows stay as they are: this release cannot check them.
    const entities: Night['entities'] = { ...standing?.entities, ...Object.fromEntries(found) };
    if (!standing && found.every(([, { file, error }]) => file === null && error === null)) return undefined;
    const night = nightOf(date, entities, standing);
    if (night !== standing && !(await store.write(night, etag))) continue;
    if (!night.complete || (await store.announce(night))) return night;
  }
  const what = `The object ${nightKey(date)} was changed by other functions ${ROUNDS} times in a row.`;
  throw new RunError('StorageUnavailable', what);
}

/** The stored night if nothing has changed, else its next revision. */
function nightOf(date: string, entities: Night['entities'], standing: Night | undefined): Night {
  const complete = lackingIn({ entities }).length === 0;
  if (standing?.complete === complete && isDeepStrictEqual(entities, standing.entities)) return standing;
  return { schemaVersion: LAYOUT, date, revision: (standing?.revision ?? 0) + 1, complete, entities };
}

async function markedOf(
  store: NightStore,
  [entity, version]: [Entity, number | null],
  standing: Night | undefined,
  failure: Failure | undefined,
): Promise<EntityOfNight> {
  const recorded = standing?.entities[entity];
  const { file, table, feed } = await store.find(entity, version, recorded);
  // The night does not wait for a table that the configuration no longer requests.
  const tableVersion = table === null && !store.writesTables(entity) ? null : version;
  const isWhole = file !== null && (tableVersion === null || table !== null);
  const error = failure?.entity === entity ? failure.error : (recorded?.error ?? null);
  return { file, tableVersion, table, feed, error: isWhole ? null : error };
}

/** The entities of a night, as its first record names them. */
function waitedBy({ entities }: Night): Waited {
  return new Map(
    ENTITIES.flatMap((entity) => {
      const marked = entities[entity];
      return marked ? [[entity, marked.tableVersion] as const] : [];
    }),
  );
}
