import type { Entity } from '../config/entities.ts';

/** Where the table of a date is. @param version from 2 on, a folder of its own: the type of a column changed */
export function tableKey(entity: Entity, date: string, version: number): string {
  return `${tablesOf(entity, version)}date=${date}/${entity}.parquet`;
}

/** What the tables of an entity begin with; a folder for each date follows. */
export function tablesOf(entity: Entity, version: number): string {
  return `tables/${version === 1 ? '' : `v${version}/`}entity=${entity}/`;
}
