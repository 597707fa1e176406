import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';

/**
 * The bytes of an object in the bucket: equal values have equal bytes. Readers ignore what they do not know, so that a
 * release can be rolled back; what is written is all of it known: a value with anything else is a bug.
 */
export function strictText(schema: z.core.$ZodType, value: object): string {
  const known = z.parse(schema, value);
  if (!isDeepStrictEqual(known, value))
    throw new Error('a value to be written has parts that its schema does not know');
  return `${JSON.stringify(known, undefined, 2)}\n`;
}
