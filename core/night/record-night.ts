import { ENTITIES, type Entity } from '../config/entities.ts';
import { eachOf } from '../each-of.ts';
import { RunError } from '../errors.ts';
import { type Marked, type Night, nightKey } from './marker.ts';
import { type Failure, type Found, nextNight, type Waited } from './next-night.ts';

/** A date in the bucket. Every method throws RunError `StorageConflict`, `StorageDenied` or `StorageUnavailable`. */
export interface NightStore {
  date: string;
  /** The entities of the night as they are configured today. */
  expected: () => Waited;
  /** Whether the tables of an entity are written by today's configuration. */
  writesTables: (entity: Entity) => boolean;
  read(): Promise<{ night: Night | undefined; etag: string | undefined }>;
  /** @param known what was read of the entity before */
  look(entity: Entity, tableVersion: number | null, known: Marked | undefined): Promise<Found>;
  /** `false` where another has written since it was read. */
  write(night: Night, etag: string | undefined): Promise<boolean>;
  /** Writes the revision of a complete night, once; `false` where another writes it just now. */
  tell(night: Night): Promise<boolean>;
}

/** A round is lost only to another who has written. Seven runs may end at one moment, and be run again. */
const ROUNDS = 20;

/**
 * Writes what there is of a date. What is written is read before the pointers, and the write is conditional: whoever writes last
 * has seen all (docs/adr/0042).
 * @param failure of the run that has ended; `undefined` where none did, or well
 * @returns the night as it stands; `undefined` where nothing is to be said of it
 * @throws RunError `StorageConflict`, `StorageDenied`, `StorageUnavailable`
 */
export async function recordNight(store: NightStore, failure?: Failure): Promise<Night | undefined> {
  const { date } = store;
  const withoutTables = ENTITIES.filter((entity) => !store.writesTables(entity));
  for (let round = 0; round < ROUNDS; round += 1) {
    const { night: standing, etag } = await store.read();
    const waited = standing ? waitedBy(standing) : store.expected();
    const found = await eachOf([...waited], async ([entity, version]) => {
      return [entity, await store.look(entity, version, standing?.entities[entity])] as const;
    });
    const next = nextNight({ date, standing, waited, withoutTables, found: new Map(found), failure });
    if (next && !(await store.write(next, etag))) continue;
    const night = next ?? standing;
    if (!night?.complete || (await store.tell(night))) return night;
  }
  const what = `The object ${nightKey(date)} was written by others ${ROUNDS} times in a row.`;
  throw new RunError('StorageUnavailable', what);
}

/** The set of a date is that of its first record. */
function waitedBy({ entities }: Night): Waited {
  return new Map(
    ENTITIES.flatMap((entity) => {
      const marked = entities[entity];
      return marked ? [[entity, marked.tableVersion] as const] : [];
    }),
  );
}
