import * as z from 'zod/mini';
import { parseJson } from '../json.ts';

/** The layout of the pointers, manifests and releases that this release writes. Releases before it wrote 1. */
export const LAYOUT = 2;

/** The version of the layout of all these objects. */
export const layoutVersion = z
  .int()
  .check(
    z.minimum(LAYOUT),
    z.describe(
      '2 so far. Fields may be added: read those that you need, whatever the version, and ignore the rest. What has 1 is of an earlier release: this schema does not describe it.',
    ),
  );

const earlierSchema = z.object({ schemaVersion: z.int().check(z.maximum(LAYOUT - 1)) });

/**
 * Tells whether a text is a pointer, manifest or release of an earlier release, which counts as none. One that is damaged
 * says another version, or none.
 */
export function isOfEarlierRelease(text: string): boolean {
  return parseJson(earlierSchema, text) !== undefined;
}

/** A sentence for a person, without its last dot. */
export function earlierText(key: string): string {
  return `The object ${key} is of an earlier release, so it counts as none`;
}
