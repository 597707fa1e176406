import * as z from 'zod';
import { suggestion } from '../suggestion.ts';
import { customerFieldsSchema, FIELD_RULES, type FieldKind, KINDS, listOf } from './customer-fields.ts';

/** A problem in an update file. Sentences quote no values, because values are customer data. */
export interface Problem {
  /** Physical line of the file, from 1; 0 for the file as a whole. */
  line: number;
  /** Name of the field in the file, shortened; `null` for the line as a whole. */
  field: string | null;
  /** The end of a sentence that begins with the name of the field. */
  sentence: string;
}

const idSchema = z.guid().describe('The id of the customer.');

/** One line of an update file. A line without any field to change is refused. */
export const updateLineSchema = customerFieldsSchema
  .safeExtend({ id: idSchema })
  .refine((line) => Object.keys(line).length > 1, 'changes nothing')
  .meta({
    title: 'One line of a file of customer updates',
    description: 'An absent field is not changed. A value sets the field. With updates.allowNull, null empties it.',
    minProperties: 2,
  });

/** A record with a customer id. */
export type WithId = Record<string, unknown> & { id: string };

export function hasId(record: Record<string, unknown>): record is WithId {
  return typeof record.id === 'string' && z.regexes.guid.test(record.id);
}

/** The rules of the configuration for a file. */
export interface LineRules {
  /** Whether `null` is sent, to empty a field. Default: `null` is refused. */
  allowNull?: boolean;
}

/** This field controls the update and is not a value of the customer, so it cannot be emptied. */
const NEVER_NULL = 'updateRelated';

const NAMES = ['id', ...FIELD_RULES.keys()];
const SCHEMAS: Record<string, z.ZodType> = customerFieldsSchema.shape;

/** A problem for each wrong field of a record; empty when it is valid. */
export function problemsOf(line: number, record: Record<string, unknown>, { allowNull }: LineRules = {}): Problem[] {
  const problems: Problem[] = [];
  const add = (field: string, sentence: string | undefined) => {
    if (sentence) problems.push({ line, field: shownName(field), sentence });
  };
  if (!hasId(record)) add('id', wrongId(record));
  const names = Object.keys(record).filter((name) => name !== 'id');
  for (const name of names) if (FIELD_RULES.has(name)) add(name, wrongValue(name, record[name], allowNull));
  for (const name of names.filter((name) => !FIELD_RULES.has(name))) {
    // The search for a similar name takes time, and only few sentences are read.
    problems.push({
      line,
      field: shownName(name),
      get sentence() {
        return unknownField(name);
      },
    });
  }
  return problems.length + names.length > 0 ? problems : [{ line, field: null, sentence: 'has no field to change' }];
}

function wrongId({ id = null }: Record<string, unknown>): string {
  return id === null || id === '' ? 'is missing' : 'is no UUID';
}

/** Adds ` (did you mean …)` if a known name is similar. */
export function unknownField(name: string): string {
  return `is not a field of a customer${suggestion(name.slice(0, 100), NAMES)}`;
}

/** The interface document does not define the effect of `null`. */
const IS_NULL = 'is null: leave the field out, or set updates.allowNull, so that null empties the field';

function wrongValue(name: string, value: unknown, allowNull = false): string | undefined {
  if (value === null && name !== NEVER_NULL) return allowNull ? undefined : IS_NULL;
  const [kind, , meanings] = FIELD_RULES.get(name) ?? [];
  if (!kind || SCHEMAS[name]?.safeParse(value).success) return undefined;
  if (kind === 'number' && isRounded(value)) return ROUNDED;
  const must = `${KINDS[kind][1]}${meanings ? ` ${listOf(meanings)}` : ''}`;
  return typeof value === 'string' && NOT_TEXT.has(kind) ? `${must}; it is text` : must;
}

/** Whether a value is a number with too many digits: a CSV cell that would be rounded stays text. */
function isRounded(value: unknown): boolean {
  return typeof value === 'string' && Number.isFinite(numberOf(value)) && !keepsDigits(value);
}

const NOT_TEXT = new Set<FieldKind>(['code', 'int32', 'number', 'flag', 'customFields']);

/** A name from the file for a terminal: no control characters, at most 40 characters. */
export function shownName(name: string): string {
  const printable = name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?');
  const [shown = ''] = /^.{0,40}/u.exec(printable) ?? [];
  return shown === printable ? shown || '(empty name)' : `${shown}…`;
}

/** The sentence for a number that JavaScript would round. */
export const ROUNDED = 'has more digits than a JSON number can keep: a different number would be sent';

/** A number as JSON writes it. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/** Every rounded number matches: it has 16 digits and points in a row, or a negative exponent of three digits. */
const ROUNDED_SOMEWHERE = /\d[\d.]{15}|[eE]-\d{3}/;

/** The number in a JSON text, which may be rounded; `undefined` if the text is not a number in JSON. */
export function numberOf(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : undefined;
}

/** Whether a JSON number keeps its value when it is read and written again. */
export function keepsDigits(text: string): boolean {
  return canonicalNumber(text) === canonicalNumber(String(Number(text)));
}

/** The field of the first number in valid JSON whose value `JSON.parse` did not keep. */
export function roundedField(json: string): string | undefined {
  // Rounded numbers are rare, and reading with a reviver takes four to seven times as long.
  if (!ROUNDED_SOMEWHERE.test(json)) return undefined;
  let field: string | undefined;
  JSON.parse(json, (key: string, value: unknown, { source = '' }: { source?: string } = {}) => {
    if (typeof value === 'number' && !keepsDigits(source)) field ??= key;
    return value;
  });
  return field;
}

/** `-1.50e3` becomes `-15e2`: without zeros at either end, equal values have equal texts. */
function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  // Unlike a replacement of `0+$`, this takes linear time for any run of zeros.
  const kept = /^.*[1-9]/.exec(digits)?.[0] ?? '';
  if (kept === '') return '0e0';
  return `${sign}${kept}e${Number(exponent) - part.length + digits.length - kept.length}`;
}
