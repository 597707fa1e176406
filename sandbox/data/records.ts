import { createHash } from 'node:crypto';
import type { Entity } from '../../core/config/entities.ts';
import { Draw } from './draw.ts';
import { type Cell, COLUMNS } from './entity-columns.ts';
import { drawPerson } from './words.ts';

export type CrmRecord = Record<string, Cell>;

/** The number of distinct records. Later records repeat them with their own ids. */
export const DISTINCT_RECORDS = 1000;

/** The last digits of a record's id hold its number, so that millions of records need no memory. */
export const ID_NUMBER_DIGITS = 12;

/** The id of the record with that number, from 0: a UUID in version 4 form. */
export function idAt(entity: Entity, index: number): string {
  const hex = createHash('sha256')
    .update(`${entity}#${index % DISTINCT_RECORDS}`)
    .digest('hex');
  const number = index.toString(16).padStart(ID_NUMBER_DIGITS, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${number}`;
}

/** The number of the record with that id, or null if the entity cannot have such a record. */
export function indexOf(entity: Entity, id: string): number | null {
  const index = Number.parseInt(id.slice(-ID_NUMBER_DIGITS), 16);
  return Number.isSafeInteger(index) && idAt(entity, index) === id.toLowerCase() ? index : null;
}

function generate(entity: Entity, index: number): CrmRecord {
  const draw = new Draw(entity, index % DISTINCT_RECORDS);
  const person = drawPerson(draw);
  const record: CrmRecord = { id: idAt(entity, index) };
  for (const { fieldName, value } of COLUMNS[entity]) record[fieldName] = value(draw, person);
  return record;
}

/** The records of the sandbox: generated on request, with the updates of customers and without removed records. */
export class Records {
  readonly #changes = new Map<string, CrmRecord>();
  readonly #removed = new Set<string>();

  at(entity: Entity, index: number): CrmRecord {
    const record = generate(entity, index);
    return entity === 'customers' ? { ...record, ...this.#changes.get(idAt(entity, index)) } : record;
  }

  /** The present records among the first `count`. */
  list(entity: Entity, count: number): CrmRecord[] {
    const present = Array.from({ length: count }, (_, index) => index).filter((index) => this.has(entity, index));
    return present.map((index) => this.at(entity, index));
  }

  has(entity: Entity, index: number): boolean {
    return !this.#removed.has(idAt(entity, index));
  }

  /** Removes a record permanently. */
  remove(entity: Entity, index: number): void {
    this.#removed.add(idAt(entity, index));
  }

  /** Changes a customer permanently. @returns the whole record */
  updateCustomer(index: number, change: CrmRecord): CrmRecord {
    const id = idAt('customers', index);
    this.#changes.set(id, { ...this.#changes.get(id), ...change });
    return this.at('customers', index);
  }
}
