import * as z from 'zod';
import type { Entity } from '../entities.ts';
import { unwrap } from './answers.ts';
import type { CrmClient } from './client.ts';

/** `GET /{entity}/fields`: an array of objects with `fieldName`, bare or wrapped (`docs/interface/open-points.md`). */
const fieldsSchema = z.preprocess(
  (answer) => unwrap(answer, 'data', 'fields', 'items'),
  z.array(z.object({ fieldName: z.string().min(1) })).min(1),
);

/** The names of all columns that an export of this entity can have, in the service's order. */
export async function readFieldNames(crm: CrmClient, entity: Entity): Promise<string[]> {
  const call = { method: 'get', path: `${entity}/fields`, template: `/${entity}/fields` } as const;
  const fields = await crm.call(call, fieldsSchema);
  return fields.map((field) => field.fieldName);
}
