import { isDeepStrictEqual } from 'node:util';
import type { Entity } from '../config/entities.ts';
import { LAYOUT } from '../export/layout.ts';
import { lackingIn } from './lacking.ts';
import type { Marked, Night } from './marker.ts';

/** The entities of a night with the version of the tables that it waits for; `null`: it waits for none. */
export type Waited = ReadonlyMap<Entity, number | null>;

/** What the bucket has of an entity and a date. */
export type Found = Pick<Marked, 'file' | 'table' | 'feed'>;

const NOTHING: Found = { file: null, table: null, feed: null };

/** A run that ended in an error. */
export interface Failure {
  entity: Entity;
  error: string;
}

interface Looked {
  date: string;
  /** What is written of the date. */
  standing: Night | undefined;
  waited: Waited;
  /** Entities whose tables nobody writes any more: the night waits for none of them. */
  withoutTables: readonly Entity[];
  found: ReadonlyMap<Entity, Found>;
  failure: Failure | undefined;
}

/** The night as it is to be written; `undefined` where it stands already, or nothing is to be said of it. */
export function nextNight(looked: Looked): Night | undefined {
  const { date, standing, waited } = looked;
  // What a release with more entities wrote of them stays: this one cannot look at them.
  const entities: Night['entities'] = { ...standing?.entities };
  for (const [entity, version] of waited) entities[entity] = markedOf(entity, version, looked);
  const complete = lackingIn({ entities }).length === 0;
  const nothing = Object.values(entities).every(({ file, error }) => file === null && error === null);
  if (!standing && nothing) return undefined;
  if (standing?.complete === complete && isDeepStrictEqual(entities, standing.entities)) return undefined;
  return { schemaVersion: LAYOUT, date, revision: (standing?.revision ?? 0) + 1, complete, entities };
}

function markedOf(entity: Entity, version: number | null, { standing, withoutTables, found, failure }: Looked): Marked {
  const { file, table, feed } = found.get(entity) ?? NOTHING;
  const tableVersion = table === null && withoutTables.includes(entity) ? null : version;
  const whole = file !== null && (tableVersion === null || table !== null);
  const known = failure?.entity === entity ? failure.error : (standing?.entities[entity]?.error ?? null);
  return { file, tableVersion, table, feed, error: whole ? null : known };
}
