import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';

/** The value of a JSON text; `undefined` for other text, because the error of `JSON.parse` would quote it. */
export function jsonOrUndefined(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** The value of a JSON text; `undefined` if it does not match the schema. */
export function parseJson<T>(schema: z.core.$ZodType<T>, text: string | undefined): T | undefined {
  const parsed = z.safeParse(schema, jsonOrUndefined(text));
  return parsed.success ? parsed.data : undefined;
}

/** A string in JSON, and the colon after it if it is a key. */
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/g;

/** A key that an object in a JSON text has twice: `JSON.parse` keeps only its last value. @param value of the text */
export function repeatedKey(text: string, value: unknown): string | undefined {
  const surplus = new Map<string, number>();
  const count = (key: string, by: number) => surplus.set(key, (surplus.get(key) ?? 0) + by);
  for (const [, key = '', colon] of text.matchAll(STRING))
    if (colon) count(key.includes('\\') ? JSON.parse(`"${key}"`) : key, 1);
  for (const [, inner] of entriesIn(value)) if (isRecord(inner)) for (const key of Object.keys(inner)) count(key, -1);
  return [...surplus].find(([, more]) => more > 0)?.[0];
}

/** Whether a value is an object with keys, and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own property of an object or array. Inherited ones, such as `constructor`, are ignored. */
export function ownValue(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** Every value inside a JSON value with its key, at any depth. The values of a list have the key of the list. */
export function entriesIn(value: unknown): [key: string, value: unknown][] {
  const entries: [key: string, value: unknown][] = [['', value]];
  // The list grows while it is read: a function that calls itself would end in an error for deeply nested values.
  for (const [key, inner] of entries) {
    if (typeof inner !== 'object' || inner === null) continue;
    for (const [name, one] of Object.entries(inner)) entries.push([Array.isArray(inner) ? key : name, one]);
  }
  return entries;
}

/** A JSON text that does not depend on the order of keys. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/** The SHA-256 of a JSON value, or its first hexadecimal digits. The order of keys does not matter. */
export function sha256Of(value: unknown, digits = 64): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex').slice(0, digits);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, sorted(inner)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The text of an object in the bucket: equal values give equal bytes. A key that the schema lacks is a bug. */
export function strictText(schema: z.core.$ZodType, value: object): string {
  const parsed = z.parse(schema, value);
  if (!isDeepStrictEqual(parsed, value)) throw new Error('a value to write has parts that its schema does not contain');
  return `${JSON.stringify(parsed, undefined, 2)}\n`;
}
