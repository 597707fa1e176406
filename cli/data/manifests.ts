import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import * as z from 'zod/mini';
import type { Entity } from '../../core/config/entities.ts';
import { type Manifest, manifestSchema } from '../../core/export/manifest.ts';
import { datePointerKey, latestPointerKey, type Pointer, pointerSchema } from '../../core/export/pointer.ts';
import { jsonOrUndefined } from '../../core/json.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { storageError } from '../../core/storage/storage-errors.ts';
import { awsErrorText } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/** Objects that are read at the same time: enough to hide the way to the bucket, few enough for any machine. */
const AT_ONCE = 16;

/** A run that was published, and what the pointers say of it. */
export interface PublishedRun {
  manifestKey: string;
  manifest: Manifest;
}

/** What of the bucket a person reads: pointers and manifests, never `runs/` as a reader of files. */
export interface Manifests {
  /** The pointer to a date, or to the newest; `undefined` when there is none. */
  pointer(entity: Entity, date: string | 'latest'): Promise<Pointer | undefined>;
  /** Dates for which something is published, oldest first. */
  dates(entity: Entity): Promise<string[]>;
  /** `undefined` when there is none under this key. */
  manifest(key: string): Promise<Manifest | undefined>;
  /** The manifest of an execution by its name, or `undefined`. */
  manifestOfRun(entity: Entity, execution: string): Promise<PublishedRun | undefined>;
  /**
   * Manifests of an entity, superseded ones too, of runs that wrote theirs since a time. What cannot be read as a manifest
   * is left out and told to `warn`, in a sentence.
   */
  runs(entity: Entity, since: Date, warn: (sentence: string) => void): Promise<PublishedRun[]>;
}

/** An object that is not what its key says: exit code 1. */
class UnreadableObject extends CommandError {}

/** Reads what a command can do without: an object that is not what its key says is told, and is as if it were not there. */
export async function ifReadable<T>(reading: Promise<T>, warn: (sentence: string) => void): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof UnreadableObject)) throw error;
    warn(error.message);
    return undefined;
  }
}

/**
 * Reads pointers and manifests as `docs/schemas` describes them. Every method throws CommandError (exit code 3) where the
 * bucket refuses or does not answer, RunError `StorageDenied` or `StorageUnavailable` where nobody knows why, and
 * UnreadableObject.
 */
export function createManifests(target: Pick<Target, 's3' | 'BucketName'>): Manifests {
  const bucket = createBucket(target.s3, target.BucketName);
  const read = async <T>(key: string, schema: z.core.$ZodType<T>): Promise<T | undefined> => {
    const object = await bucket.read(key).catch(refused);
    if (!object) return undefined;
    const parsed = z.safeParse(schema, jsonOrUndefined(object.text));
    if (parsed.success) return parsed.data;
    throw new UnreadableObject(`The object ${key} does not hold what it should: another program wrote it.`, RUN_FAILED);
  };
  const manifest = (key: string) => read(key, manifestSchema);
  return {
    manifest,
    pointer: (entity, date) =>
      read(date === 'latest' ? latestPointerKey(entity) : datePointerKey(entity, date), pointerSchema),
    dates: async (entity) => {
      const found = await listObjects(target, `published/entity=${entity}/date=`);
      return found.flatMap(({ key }) => /\/date=(\d{4}-\d\d-\d\d)\.json$/.exec(key)?.[1] ?? []).sort();
    },
    manifestOfRun: async (entity, execution) => {
      const manifestKey = manifestKeyOf(entity, execution);
      const found = await manifest(manifestKey);
      return found && { manifestKey, manifest: found };
    },
    runs: async (entity, since, warn) => {
      const found = await listObjects(target, `runs/entity=${entity}/`);
      const wanted = found.filter(({ key, modified }) => key.endsWith('/_manifest.json') && modified >= since);
      const runs = await eachOf(wanted, async ({ key }): Promise<PublishedRun[]> => {
        const one = await ifReadable(manifest(key), warn);
        return one ? [{ manifestKey: key, manifest: one }] : [];
      });
      return runs.flat();
    },
  };
}

/** Whoever typed the command is told what to do about it; what is nobody's known trouble stays what it is. */
function refused(error: unknown): never {
  const trouble = awsErrorText(error);
  throw trouble === undefined ? error : new CommandError(trouble, ENVIRONMENT, { cause: error });
}

/** Where the manifest of a run lies; `execution` is the name of its execution. */
function manifestKeyOf(entity: Entity, execution: string): string {
  return `runs/entity=${entity}/run=${encodeURIComponent(execution)}/_manifest.json`;
}

/** Does something with each of a list, a few at a time; the answers come in the order of the list. */
export async function eachOf<T, R>(list: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const left = list.entries();
  const worker = async () => {
    for (const [index, item] of left) answers[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return answers;
}

interface Listed {
  key: string;
  modified: Date;
}

async function listObjects({ s3, BucketName }: Pick<Target, 's3' | 'BucketName'>, Prefix: string): Promise<Listed[]> {
  const found: Listed[] = [];
  for (let ContinuationToken: string | undefined; ; ) {
    const page = await s3
      .send(new ListObjectsV2Command({ Bucket: BucketName, Prefix, ContinuationToken }))
      .catch((error: unknown) => {
        return refused(storageError(error, 'read', Prefix));
      });
    const modifiedAt = (time: Date | undefined) => time ?? new Date();
    found.push(
      ...(page.Contents ?? []).map(({ Key = '', LastModified }) => ({ key: Key, modified: modifiedAt(LastModified) })),
    );
    if (!page.IsTruncated) return found;
    ContinuationToken = page.NextContinuationToken;
  }
}
