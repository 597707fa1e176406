import * as z from 'zod/mini';
import { isPlainName } from '../suggestion.ts';

/** Reads the bodies of good answers: the id, record and file address of an export, in every accepted shape. */

const ID_FIELDS = ['id', 'uuid', 'exportId'];

/** The id as a string, or under one of three names, at the top level or under `data`. */
const idSchema = z.union([z.guid(), ...ID_FIELDS.map((field) => fieldSchema(field, z.guid()))]);
const createdSchema = z.union([idSchema, fieldSchema('data', idSchema)]);

/** Extracts one field of an object. */
function fieldSchema<T>(field: string, schema: z.core.$ZodType<T>) {
  return z.pipe(
    z.object({ [field]: schema }),
    z.transform((answer: Record<string, T>) => answer[field]),
  );
}

/** Stage 1: the id of the new export; `undefined` if the body has none. */
export function exportIdIn(body: unknown): string | undefined {
  const id = createdSchema.safeParse(body);
  return id.success && id.data ? id.data : undefined;
}

/** The statuses of an export; the CRM may write them in any letter case. */
export const STATUSES = ['INITIATED', 'PROCESSING', 'PROCESSED', 'FAILED'] as const;
export type ExportStatus = (typeof STATUSES)[number];

/** The status for a word of the CRM; `undefined` for a word that the interface document does not list. */
export function statusOf(word: string): ExportStatus | undefined {
  const plain = word.trim().toUpperCase();
  return STATUSES.find((known) => known === plain);
}

const plainRecord = z.looseObject({ status: z.string() });
const wrappedRecord = fieldSchema('data', plainRecord);

/**
 * Stage 2: the record is the body itself or under `data`. Both levels may have a `status` and an id. The body itself
 * is the record if its status is listed or its id is that of the export.
 */
export function recordSchema(exportId: string) {
  const recordIn = (body: unknown): unknown => {
    const bare = plainRecord.safeParse(body).data;
    if (bare && (statusOf(bare.status) || idsOf(bare).some((id) => isSameId(id, exportId)))) return body;
    const wrapped = wrappedRecord.safeParse(body);
    return wrapped.success ? wrapped.data : body;
  };
  return z.pipe(z.transform(recordIn), plainRecord);
}

/** Whether a body has a status, listed in the interface document or not. */
export function hasStatus(body: unknown): boolean {
  return plainRecord.safeParse(body).success || wrappedRecord.safeParse(body).success;
}

export function isSameId(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The ids of a record, under every name that may hold the id of an export. */
export function idsOf(record: Record<string, unknown>): string[] {
  return ID_FIELDS.flatMap((field) => z.guid().safeParse(record[field]).data ?? []);
}

/** Stage 3: the address of the file. */
export const linkSchema = unwrapped(z.object({ url: z.url() }), 'data');

const addressSchema = z.looseObject({ url: z.optional(z.unknown()), status: z.optional(z.unknown()) });

/** Stage 3: whether a body has no address: it is empty, has an empty `url`, or is only the record of the export. */
export function isWithoutAddress(body: unknown): boolean {
  const bare = addressSchema.safeParse(body).data?.url;
  const inner = bare === undefined ? unwrap(body, 'data') : body;
  if (inner === null || (Array.isArray(inner) && inner.length === 0)) return true;
  const record = addressSchema.safeParse(inner);
  if (!record.success) return false;
  const { url, status } = record.data;
  if (typeof url === 'string') return url.trim() === '';
  const saysWait = typeof status === 'string' && statusOf(status) !== undefined;
  return url === null || (url === undefined && (saysWait || Object.keys(record.data).length === 0));
}

/** Accepts a value itself, or in an object under one of these keys. */
export function unwrapped<T extends z.core.$ZodType>(schema: T, ...wrappers: string[]) {
  return z.pipe(
    z.transform((answer) => (z.safeParse(schema, answer).success ? answer : unwrap(answer, ...wrappers))),
    schema,
  );
}

function unwrap(value: unknown, ...wrappers: string[]): unknown {
  const object = z.record(z.string(), z.unknown()).safeParse(value);
  const wrapper = object.success ? wrappers.find((key) => Object.hasOwn(object.data, key)) : undefined;
  return wrapper && object.success ? object.data[wrapper] : value;
}

/** Describes the shape of an answer for messages: it names keys and types, no values. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    const first = Array.isArray(value[0]) ? 'another array' : shapeOf(value[0]);
    return value.length > 0 ? `an array of ${value.length}, first ${first}` : 'an empty array';
  }
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  // A key may be data, such as an e-mail address.
  const named = keys.filter(isPlainName).slice(0, 20);
  const others = keys.length > named.length ? [`${keys.length - named.length} that are not repeated here`] : [];
  return keys.length > 0 ? `an object with the keys ${[...named, ...others].join(', ')}` : 'an object without keys';
}
