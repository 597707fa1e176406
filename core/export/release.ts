import * as z from 'zod/mini';
import { entitySchema } from '../config/entities.ts';
import { RunError } from '../errors.ts';
import { parseJson, strictText } from '../json.ts';
import type { Bucket } from '../storage/bucket.ts';
import { ignoredKeys, inputOf } from './input.ts';
import { layoutVersion } from './layout.ts';

/** The input of an execution that publishes what a guard has stopped. */
const inputSchema = z.strictObject({
  entity: entitySchema,
  /** The execution that stored the file. */
  release: z.string().check(z.regex(/^[^\s/]{1,80}$/)),
  reason: z.string().check(z.trim(), z.minLength(1), z.maxLength(500)),
  /** The person who releases it, by their own word. */
  by: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  newNormal: z._default(z.boolean(), false),
  ...ignoredKeys,
});
type ReleaseInput = z.infer<typeof inputSchema>;

/** @throws RunError `InvalidInput` */
export function parseReleaseInput(input: unknown): ReleaseInput {
  return inputOf(inputSchema, input);
}

/** Whether an input asks for a release, be it right or wrong. */
export function isReleaseInput(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'release' in input;
}

/** `_release.json` beside the manifest. Read loosely, as manifests are. */
export const releaseSchema = z.object({
  schemaVersion: layoutVersion,
  entity: entitySchema,
  /** The run whose file is released. */
  run: z.string(),
  /** The execution that released it, and when it was started. */
  execution: z.string(),
  requestedAt: z.iso.datetime(),
  reason: z.string(),
  by: z.nullable(z.string()),
  newNormal: z.boolean(),
});
export type Release = z.infer<typeof releaseSchema>;

/** `undefined` where there is none. @throws RunError `StorageConflict` when the object there is none of this software */
export async function readRelease(bucket: Pick<Bucket, 'read'>, key: string): Promise<Release | undefined> {
  const object = await bucket.read(key);
  if (!object) return undefined;
  const release = parseJson(releaseSchema, object.text);
  if (release) return release;
  throw new RunError('StorageConflict', `The object at ${key} is no release of this software.`);
}

/** Writes it once; the first one stands. @returns the one that stands */
export async function writeRelease(bucket: Bucket, key: string, release: Release): Promise<Release> {
  if (await bucket.putOnce(key, strictText(releaseSchema, release))) return release;
  return (await readRelease(bucket, key)) ?? release;
}
