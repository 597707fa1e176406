import { readFileSync } from 'node:fs';

/** Whether a value fits a field of an update. Made from `docs/interface/reference.md` alone. */
type Rule = (value: unknown) => boolean;

const text: Rule = (value) => typeof value === 'string';
const flag: Rule = (value) => value === true || value === false;
const whole: Rule = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= -2_147_483_648 && value <= 2_147_483_647;
const number: Rule = (value) => typeof value === 'number' && Number.isFinite(value);
const uuid: Rule = (value) => typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);

/** A day that exists in the calendar. `Date` turns another one into a later day. */
const date: Rule = (value) => {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const day = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value);
};

const dateTime: Rule = (value) => {
  if (typeof value !== 'string') return false;
  const [day = '', time = '', ...more] = value.split('T');
  const [, hours, minutes, seconds = '0'] =
    /^(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/.exec(time) ?? [];
  return more.length === 0 && date(day) && Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
};

/** International format with a leading plus. The document does not define separators. */
const phone: Rule = (value) => {
  if (typeof value !== 'string' || !value.startsWith('+')) return false;
  const digits = value.slice(1).replace(/[ ().-]/g, '');
  return /^\d{7,15}$/.test(digits) && /\d$/.test(value);
};

const customFields: Rule = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(([name, held]) => name === 'present' && flag(held));

/** The rule of each type of the reference. A code has the codes of its row. */
const RULES: Readonly<Record<string, Rule>> = {
  boolean: flag,
  'date-time': dateTime,
  int32: whole,
  object: customFields,
  UUID: uuid,
  ...{ date, number, phone, text },
};

/** A row of the table of customer fields in `docs/interface/reference.md`. */
export interface DocumentedField {
  name: string;
  type: string;
  /** The listed codes with their meanings; empty unless the type is `code`. */
  codes: Record<number, string>;
}

/** The fields of an update, in the order of the reference. */
export function documentedFields(): DocumentedField[] {
  const reference = readFileSync(new URL('../../docs/interface/reference.md', import.meta.url), 'utf8');
  const section = reference.split('\n## Fields of a customer\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| (\w+) \| ([\w-]+) \| (.+) \|$/gm)].slice(1);
  return rows.map(([, name = '', type = '', notes = '']) => ({
    name,
    type,
    codes: Object.fromEntries(type === 'code' ? codesIn(notes) : []),
  }));
}

const codesIn = (notes: string) =>
  [...notes.matchAll(/(?:^|[:,] )(\d+) ([^,]+)/g)].map(([, code, meaning]) => [Number(code), meaning]);

const FIELDS = new Map(documentedFields().map((field) => [field.name, ruleOf(field)]));

function ruleOf({ type, codes }: DocumentedField): Rule {
  if (type === 'code') return (value) => typeof value === 'number' && value in codes;
  const rule = RULES[type];
  if (!rule) throw new Error(`The reference has a new type: ${type}`);
  return rule;
}

/** Names of unknown and invalid fields. `null` empties a field: the document does not mention it. */
export function fieldsAtFault(update: object): string[] {
  return Object.entries(update).flatMap(([name, value]) => {
    const rule = FIELDS.get(name);
    if (!rule) return [name];
    const holds = value === null ? name !== 'updateRelated' : rule(value);
    return holds ? [] : [name];
  });
}
