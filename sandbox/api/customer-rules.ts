import { readFileSync } from 'node:fs';
import { z } from 'zod';

const DATE = z.iso.date();
const TIME = /^.{10}T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$/;

/** The values of each type, made from `docs/interface/reference.md` alone. A code has the codes of its row. */
const TYPES: Readonly<Record<string, z.ZodType>> = {
  boolean: z.boolean(),
  date: DATE,
  'date-time': z.string().refine((value) => TIME.test(value) && DATE.safeParse(value.slice(0, 10)).success),
  int32: z.int32(),
  number: z.number(),
  object: z.strictObject({ present: z.boolean().optional() }),
  // International format with a leading plus. The document does not define separators.
  phone: z.string().regex(/^\+[ ().-]*(\d[ ().-]*){6,14}\d$/),
  text: z.string(),
  UUID: z.guid(),
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

/** The body of an update. `null` empties a field, although the interface document does not mention `null`. */
export const updateSchema = z.strictObject(
  Object.fromEntries(documentedFields().map((field) => [field.name, ruleOf(field).optional()])),
);

function ruleOf({ name, type, codes }: DocumentedField): z.ZodType {
  const rule = type === 'code' ? z.literal(Object.keys(codes).map(Number)) : TYPES[type];
  if (!rule) throw new Error(`The reference has a new type: ${type}`);
  return name === 'updateRelated' ? rule : rule.nullable();
}
