import * as z from 'zod';
import { FIELD_RULES, type FieldKind, type FieldRule, ofOneFund } from './customer-fields.ts';
import type { UpdateLine } from './update-line.ts';

/**
 * The schema of a line, unrolled: it looks at the fields that are there, where the schema asks for each of the 57. What it
 * takes the schema takes too and the other way round (a property test); nothing is written down twice but how a kind is
 * checked.
 */

type Check = (value: unknown) => boolean;

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);

const DATE_TIME = z.regexes.datetime({ offset: true });

const CHECKS: Record<Exclude<FieldKind, 'code'>, Check> = {
  text: (value) => typeof value === 'string',
  flag: (value) => typeof value === 'boolean',
  int32: (value) => typeof value === 'number' && (value | 0) === value,
  number: (value) => typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER,
  date: matches(z.regexes.date),
  dateTime: matches(DATE_TIME),
  uuid: matches(z.regexes.guid),
  e164: matches(z.regexes.e164),
  customFields: isCustomFields,
};

function isCustomFields(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === 'present' && typeof Reflect.get(value, 'present') === 'boolean';
}

function checkOf({ kind, meanings = {} }: FieldRule): Check {
  if (kind !== 'code') return CHECKS[kind];
  const listed = new Set<unknown>(Object.keys(meanings).map(Number));
  return (value) => listed.has(value);
}

const FIELD_CHECKS = new Map([...FIELD_RULES].map(([name, rule]) => [name, checkOf(rule)]));

/** Whether this is an id; `problemsOf` says why it is none. */
export function isId(id: unknown): id is string {
  return CHECKS.uuid(id);
}

/** Whether a record (of JSON: nothing in it is `undefined`) with a good id is a valid line; `problemsOf` says why it is none. */
export function isUpdateLine(record: Readonly<Record<string, unknown>>): record is UpdateLine {
  let some = false;
  for (const name in record) {
    if (name === 'id') continue;
    const value = record[name];
    const check = FIELD_CHECKS.get(name);
    if (!check || (value !== null && !check(value))) return false;
    some = true;
  }
  return some && ofOneFund(record);
}
