import * as z from 'zod/mini';
import { CRM_EXPORT } from '../commands.ts';
import { entitySchema } from '../config/entity-schema.ts';
import { isReleasable } from '../gate/gate.ts';
import { ownValue, strictText } from '../json.ts';
import { ignoredKeys, inputOf } from '../step/machine-input.ts';
import type { Bucket } from '../storage/bucket.ts';
import { layoutVersion, storedAs } from './layout.ts';
import type { Manifest } from './manifest.ts';
import { compareRuns, type OrderedRun } from './pointer.ts';

/** The input of an execution that publishes a file that a check has stopped. */
const inputSchema = z.strictObject({
  entity: entitySchema,
  /** The execution that stored the file. */
  release: z.string().check(z.regex(/^[^\s/]{1,80}$/, 'must be the name of a run')),
  reason: z.string().check(z.trim(), z.minLength(1), z.maxLength(500)),
  /** The person who releases the file, by the name that they gave. */
  by: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  newNormal: z._default(z.boolean(), false),
  ...ignoredKeys,
});
type ReleaseInput = z.infer<typeof inputSchema>;

/** @throws RunError `InvalidInput` */
export function parseReleaseInput(input: unknown): ReleaseInput {
  return inputOf(inputSchema, input);
}

/** Whether an input asks for a release, valid or not. */
export function isReleaseInput(input: unknown): boolean {
  return ownValue(input, 'release') !== undefined;
}

/** `_release.json` beside the manifest. Parsed loosely, like manifests. */
export const releaseSchema = z.object({
  schemaVersion: layoutVersion,
  entity: entitySchema,
  /** The run whose file is released. */
  run: z.string(),
  /** The execution that released the file, and the start of that execution. */
  execution: z.string(),
  requestedAt: z.iso.datetime(),
  reason: z.string(),
  by: z.nullable(z.string()),
  newNormal: z.boolean(),
});
export type Release = z.infer<typeof releaseSchema>;

/**
 * Writes the release once; an existing one stays.
 * @returns the stored release
 * @throws RunError `StorageConflict` if the object is not a release of this software
 */
export async function writeRelease(bucket: Bucket, key: string, release: Release): Promise<Release> {
  if (await bucket.putOnce(key, strictText(releaseSchema, release))) return release;
  return storedAs(releaseSchema, key, (await bucket.read(key))?.text, 'is not a release of this software');
}

/** Why the file of a run cannot be released, in a sentence; `undefined` if it can. */
export function unreleasableReason(
  run: string,
  manifest: Manifest | undefined,
  newNormal: boolean,
): string | undefined {
  const why = reasonOf(manifest, newNormal);
  return why && `The run ${run} cannot be released: ${why}.`;
}

function reasonOf(manifest: Manifest | undefined, newNormal: boolean): string | undefined {
  if (!manifest) return `it has stored no file, is under way or does not exist; to list the runs: ${CRM_EXPORT} list`;
  const { state, guards, run } = manifest;
  if (state === 'published') return 'no check has stopped its file, which is published';
  if (state === 'unpublished') return 'its plan differs from the configured one, and no check has stopped it';
  if (guards && !isReleasable(guards)) return 'its file has a column that the configuration leaves out';
  if (newNormal && run.kind === 'partial') return 'newNormal is only for runs with the configured plan';
  return undefined;
}

/**
 * Why no pointer has to move, in a sentence; `undefined` if a pointer has to move.
 * @param others the other pointers that the release may move
 */
export function alreadyPublishedReason(
  manifest: Manifest,
  ofDate: OrderedRun | undefined,
  others: (OrderedRun | undefined)[],
): string | undefined {
  if (isOvertaken(manifest, ofDate)) return overtakenText(manifest);
  if ([ofDate, ...others].some((run) => aheadOf(manifest, run) > 0)) return undefined;
  return `The run ${manifest.execution} is published already: the pointer of its date names it.`;
}

/** Whether the pointer of the date names a later run, which a release does not replace. */
export function isOvertaken(manifest: Manifest, ofDate: OrderedRun | undefined): boolean {
  return aheadOf(manifest, ofDate) < 0;
}

function aheadOf(manifest: Manifest, run: OrderedRun | undefined): number {
  return run ? compareRuns({ ...manifest, ...manifest.run }, run) : 1;
}

export function overtakenText({ execution, run: { entity, date, kind } }: Manifest): string {
  const other = kind === 'partial' ? 'a later run, or by one with the configured plan' : 'a later run';
  return `${entity} of ${date} is published by ${other}. The run ${execution} is not released, because a release never replaces that run.`;
}
