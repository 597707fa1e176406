import * as z from 'zod';
import { DATE_TIME, FIELD_RULES, type FieldKind, type FieldRule, PHONE } from './customer-fields.ts';

/**
 * Accepts exactly what the schema of a line accepts (a property test), in 0.5 instead of 8 microseconds: it checks the fields
 * that are there, where the schema looks for each of the 57.
 */

type Check = (value: unknown) => boolean;

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);

const CHECKS: Record<Exclude<FieldKind, 'code'>, Check> = {
  text: (value) => typeof value === 'string',
  flag: (value) => typeof value === 'boolean',
  int32: (value) => typeof value === 'number' && (value | 0) === value,
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  date: matches(z.regexes.date),
  dateTime: matches(DATE_TIME),
  uuid: matches(z.regexes.guid),
  phone: matches(PHONE),
  customFields: isCustomFields,
};

function isCustomFields(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, present]) => name === 'present' && typeof present === 'boolean');
}

function checkOf({ kind, meanings = {} }: FieldRule): Check {
  if (kind !== 'code') return CHECKS[kind];
  const listed = new Set<unknown>(Object.keys(meanings).map(Number));
  return (value) => listed.has(value);
}

const FIELD_CHECKS = new Map([...FIELD_RULES].map(([name, rule]) => [name, checkOf(rule)]));

/** A record with the id of a customer. */
export type WithId = Record<string, unknown> & { id: string };

export function hasId(record: Record<string, unknown>): record is WithId {
  return CHECKS.uuid(record.id);
}

/** What the configuration allows in a file. */
export interface LineRules {
  /** Whether `null` is sent, to empty a field. */
  allowNull: boolean;
}

export const STRICT: LineRules = { allowNull: false };

/** The one field that is no value of the customer: there is nothing to empty. */
export const NEVER_NULL = 'updateRelated';

/** Whether a record (of JSON: nothing in it is `undefined`) with a good id is a valid line; `problemsOf` says why it is none. */
export function isUpdateLine(record: Readonly<Record<string, unknown>>, { allowNull } = STRICT): boolean {
  let some = false;
  for (const name in record) {
    if (name === 'id') continue;
    const value = record[name];
    const check = FIELD_CHECKS.get(name);
    if (!check) return false;
    if (!(value === null ? allowNull && name !== NEVER_NULL : check(value))) return false;
    some = true;
  }
  return some;
}
