import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';

/** The value of a JSON text, or `undefined` where it is none. `JSON.parse` would quote the text in its error. */
export function jsonOrUndefined(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** The value of a JSON text of this shape, or `undefined` where it is none. */
export function parseJson<T>(schema: z.core.$ZodType<T>, text: string | undefined): T | undefined {
  const parsed = z.safeParse(schema, jsonOrUndefined(text));
  return parsed.success ? parsed.data : undefined;
}

/** The text of an object in the bucket: equal values have equal bytes. A value with keys that the schema lacks is a bug. */
export function strictText(schema: z.core.$ZodType, value: object): string {
  const known = z.parse(schema, value);
  if (!isDeepStrictEqual(known, value))
    throw new Error('a value to be written has parts that its schema does not know');
  return `${JSON.stringify(known, undefined, 2)}\n`;
}
