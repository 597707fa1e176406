import { isDeepStrictEqual } from 'node:util';
import type { Entity } from '../config/entities.ts';
import { LAYOUT } from '../export/layout.ts';
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
export function nextNight({ date, standing, waited, withoutTables, found, failure }: Looked): Night | undefined {
  const entities: Night['entities'] = {};
  let complete = true;
  for (const [entity, tableVersion] of waited) {
    const { file, table, feed } = found.get(entity) ?? NOTHING;
    const whole = file !== null && (tableVersion === null || table !== null || withoutTables.includes(entity));
    const known = failure?.entity === entity ? failure.error : (standing?.entities[entity]?.error ?? null);
    entities[entity] = { file, tableVersion, table, feed, error: whole ? null : known };
    complete &&= whole;
  }
  const nothing = Object.values(entities).every(({ file, error }) => file === null && error === null);
  if (!standing && nothing) return undefined;
  if (standing?.complete === complete && isDeepStrictEqual(entities, standing.entities)) return undefined;
  return { schemaVersion: LAYOUT, date, revision: (standing?.revision ?? 0) + 1, complete, entities };
}
