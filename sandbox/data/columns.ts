import type { Entity } from '../../core/config/entities.ts';
import type { Column } from './column.ts';
import { AGENT_NUMBERS, EMPLOYERS, MEETINGS, WORKFLOWS } from './office-columns.ts';
import { CONTACTS, CUSTOMERS, LEADS } from './people-columns.ts';

/** The columns of each entity besides `id`, which every entity has first. */
export const COLUMNS: Record<Entity, Column[]> = {
  leads: LEADS,
  'agent-numbers': AGENT_NUMBERS,
  workflows: WORKFLOWS,
  contacts: CONTACTS,
  customers: CUSTOMERS,
  meetings: MEETINGS,
  employers: EMPLOYERS,
};

/** What every entity has first. */
export const ID_FIELD = { fieldName: 'id', label: 'מזהה', type: 'uuid' } as const;

/** All field names of an entity, in the order of the listing. */
export function fieldNames(entity: Entity): string[] {
  return [ID_FIELD.fieldName, ...COLUMNS[entity].map(({ fieldName }) => fieldName)];
}
