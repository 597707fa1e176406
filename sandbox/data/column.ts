import type { Draw } from './draw.ts';
import type { Person } from './words.ts';

export type Cell = string | number | boolean | null;

/** One column of an entity, as `GET /{entity}/fields` lists it, with the rule by which its values are made. */
export interface Column {
  fieldName: string;
  label: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'uuid';
  value: (draw: Draw, person: Person) => Cell;
}

/** A column; `value` draws in the order of the columns, so that adding one at the end changes no other. */
export function column(fieldName: string, label: string, type: Column['type'], value: Column['value']): Column {
  return { fieldName, label, type, value };
}
