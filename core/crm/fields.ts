import * as z from 'zod/mini';
import type { Entity } from '../config/entities.ts';
import { isSafeLabel, isSafeName } from '../suggestion.ts';
import type { CrmClient } from './crm-client.ts';
import { FIELD_LISTS, unwrapped } from './read-body.ts';

/** A column that an export can have. */
export interface Field {
  name: string;
  /** `null` if the CRM returned no label, or a label that is not a few words on one line. */
  label: string | null;
  /** `null` if the CRM returned no type, or a type that is not a name. */
  type: string | null;
}

/**
 * `GET /{entity}/fields`: an array of objects with `fieldName`, or a wrapper of it (`docs/interface/open-points.md`).
 */
const fieldSchema = z.looseObject({ fieldName: z.string().check(z.minLength(1)) });
const fieldsSchema = unwrapped(z.array(fieldSchema).check(z.minLength(1)), ...FIELD_LISTS);

/** The fields of an entity, in the order of the answer. @throws RunError the errors of `CrmClient.call` */
export async function readFields(crm: CrmClient, entity: Entity): Promise<Field[]> {
  const fields = await crm.call({ operation: 'fields', entity }, fieldsSchema);
  return fields.map(({ fieldName, label, fieldLabel, type, fieldType }) => ({
    name: fieldName,
    label: textsOf(label, fieldLabel).find(isSafeLabel) ?? null,
    type: textsOf(type, fieldType).find(isSafeName) ?? null,
  }));
}

function textsOf(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}
