import * as z from 'zod/mini';
import type { Entity } from '../entities.ts';
import { unwrapped } from './answers.ts';
import type { CrmClient } from './client.ts';

/** `GET /{entity}/fields`: an array of objects with `fieldName`, bare or wrapped (`docs/interface/open-points.md`). */
const fieldsSchema = unwrapped(
  z.array(z.object({ fieldName: z.string().check(z.minLength(1)) })).check(z.minLength(1)),
  'data',
  'fields',
  'items',
);

/** The names of all columns that an export of this entity can have, in the service's order. */
export async function readFieldNames(crm: CrmClient, entity: Entity): Promise<string[]> {
  const call = { method: 'get', path: `${entity}/fields`, template: `/${entity}/fields` } as const;
  const fields = await crm.call(call, fieldsSchema);
  return fields.map((field) => field.fieldName);
}
