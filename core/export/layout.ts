import * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import { parseJson } from '../json.ts';

/** The layout version of the pointers, manifests and releases that this release writes. */
export const LAYOUT = 3;
/** The oldest layout version that this release reads. */
const OLDEST_LAYOUT = 2;

/** The layout version in each of these objects. */
export const layoutVersion = z
  .int()
  .check(
    z.minimum(OLDEST_LAYOUT),
    z.describe(
      'Currently 3. Fields may be added: read those that you need, whatever the version, and ignore the rest. This schema does not describe objects of earlier releases, which have a smaller number.',
    ),
  );

const earlierSchema = z.object({ schemaVersion: z.int().check(z.maximum(OLDEST_LAYOUT - 1)) });

/**
 * Whether a text is a pointer, manifest or release of an earlier release, which counts as missing. A damaged object has
 * another version, or none.
 */
export function isOfEarlierRelease(text: string): boolean {
  return parseJson(earlierSchema, text) !== undefined;
}

/** A sentence for a person, without its full stop. */
export function earlierText(key: string): string {
  return `The object ${key} is of an earlier release, so it counts as missing`;
}

/**
 * Parses a stored object.
 * @param problem what is wrong with another object: the end of a sentence
 * @throws RunError `StorageConflict`
 */
export function storedAs<T>(schema: z.core.$ZodType<T>, key: string, text: string | undefined, problem: string): T {
  const parsed = parseJson(schema, text);
  if (parsed !== undefined) return parsed;
  throw new RunError('StorageConflict', `The object at ${key} ${problem}.`);
}
