import type * as z from 'zod/mini';
import { fieldsOf, type ListedField } from '../../core/columns/column-changes.ts';
import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { ERRORS } from '../../core/errors.ts';
import { earlierText, isOfEarlierRelease } from '../../core/export/layout.ts';
import { type Manifest, storedManifestSchema } from '../../core/export/manifest.ts';
import {
  datePointerKey,
  latestPointerKey,
  manifestKeyOf,
  type Pointer,
  pointerSchema,
  runPrefix,
} from '../../core/export/pointer.ts';
import { releaseSchema } from '../../core/export/release.ts';
import { isReadFormat } from '../../core/gate/facts.ts';
import { stoppedText } from '../../core/gate/gate.ts';
import { parseJson } from '../../core/json.ts';
import { nightKey, nightSchema } from '../../core/night/night-record.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { countText } from '../support/text.ts';

export type Manifests = ReturnType<typeof createManifests>;

/** An object with invalid content: exit code 1. */
class UnreadableObject extends CommandError {}

/** Reads an object that a command can do without: if its content is invalid, reports it and returns `undefined`. */
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
 * Reads pointers and manifests as `docs/schemas` describes them; a missing object is `undefined`. Every method throws
 * RunError `StorageDenied` or `StorageUnavailable`, and UnreadableObject.
 */
export function createManifests(target: Pick<Target, 's3' | 'BucketName'>) {
  const bucket = createBucket(target.s3, target.BucketName);
  const read = async <T>(key: string, schema: z.core.$ZodType<T>): Promise<T | undefined> => {
    const object = await bucket.read(key);
    if (!object) return undefined;
    if (isOfEarlierRelease(object.text))
      throw new UnreadableObject(`${earlierText(key)}: ${ERRORS.EarlierRelease.advice}`, RUN_FAILED);
    const value = parseJson(schema, object.text);
    if (value !== undefined) return value;
    throw new UnreadableObject(`The object ${key} has unexpected content: another program wrote it.`, RUN_FAILED);
  };
  const datesBelow = async (prefix: string) => {
    const found = await bucket.list(`${prefix}date=`);
    return found.flatMap(({ key }) => /\/date=(\d{4}-\d\d-\d\d)\.json$/.exec(key)?.[1] ?? []);
  };
  const manifest = (key: string) => read(key, storedManifestSchema);
  return {
    manifest,
    night: (date: string) => read(nightKey(date), nightSchema),
    pointer: (entity: Entity, date: string | 'latest') =>
      read(date === 'latest' ? latestPointerKey(entity) : datePointerKey(entity, date), pointerSchema),
    /** Dates with a published export, oldest first. */
    dates: (entity: Entity) => datesBelow(`published/entity=${entity}/`),
    /** Dates with a recorded night, oldest first. */
    nights: () => datesBelow('published/nights/'),
    manifestOfRun: (entity: Entity, execution: string) => manifest(manifestKeyOf(entity, execution)),
    runNames: async (entity: Entity) => {
      const found = await bucket.list(`runs/entity=${entity}/run=`);
      return found
        .toSorted((one, other) => (other.at?.getTime() ?? 0) - (one.at?.getTime() ?? 0))
        .flatMap(({ key }) => /\/run=([^/]+)\/_manifest\.json$/.exec(key)?.[1] ?? []);
    },
    releaseOf: (entity: Entity, execution: string) =>
      read(`${runPrefix(entity, execution)}_release.json`, releaseSchema),
    /** The manifests of runs that wrote them since a time, including superseded runs. */
    runs: async (entity: Entity, since: Date, warn: (sentence: string) => void): Promise<Manifest[]> => {
      const found = await bucket.list(`runs/entity=${entity}/`);
      const wanted = found.filter(({ key, at }) => key.endsWith('/_manifest.json') && (!at || at >= since));
      const unread: string[] = [];
      const runs = await eachOf(wanted, ({ key }) =>
        ifReadable(manifest(key), (sentence) => void unread.push(sentence)),
      );
      const [first, ...others] = unread;
      if (first !== undefined) warn(first);
      if (others.length > 0) warn(`${countText(others.length, 'more manifest')} of ${entity} cannot be read.`);
      return runs.flatMap((one) => one ?? []);
    },
  };
}

/** The message for a missing object that a pointer or a manifest names. */
export function goneText(
  { entity, date, keptUntil }: Pick<Pointer, 'entity' | 'date' | 'keptUntil'>,
  what: string,
  today = new Date().toISOString().slice(0, 10),
): string {
  if (keptUntil <= today) return `The file of ${entity} of ${date} has expired: it was kept until ${keptUntil}.`;
  return `The export of ${entity} of ${date} is published, but ${what} is missing, although it should be kept until ${keptUntil}.`;
}

/** The error for a file that cannot be found, read or written: exit code 1. */
export function fileError(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, RUN_FAILED, { cause });
}

/**
 * The manifests that the pointers of an entity name: full exports, windows and partial ones.
 * @returns the manifests, oldest date first, and the one that `latest` names
 */
export async function publishedManifests(manifests: Manifests, entity: Entity, warn: (sentence: string) => void) {
  const pointers = await eachOf([...(await manifests.dates(entity)), 'latest'], (date) =>
    ifReadable(manifests.pointer(entity, date), warn),
  );
  const keys = pointers.flatMap((pointer) => pointer?.manifestKey ?? []);
  const published = await manifestsAt(manifests, keys, warn);
  const latest = pointers.at(-1)?.execution;
  return { published, newest: published.find(({ execution }) => execution === latest) };
}

/** The readable manifests at the keys, each once. Reports manifests that are invalid or missing. */
export async function manifestsAt(manifests: Manifests, keys: string[], warn: (sentence: string) => void) {
  const found = await eachOf([...new Set(keys)], async (key) => {
    let why = `The manifest of a published file is missing: ${key}.`;
    const manifest = await ifReadable(manifests.manifest(key), (sentence) => {
      why = sentence;
    });
    if (!manifest) warn(why);
    return manifest ?? [];
  });
  return found.flat();
}

/**
 * The columns of a file, according to its manifest, in the order of the file. A type or label is null if the CRM gave
 * none or it is unknown. `others`: columns that the CRM lists but the file does not have; null if unknown.
 */
export function columnsOf({ file, run }: Pick<Manifest, 'file' | 'run'>) {
  const fields = fieldsOf(run);
  // A column may have neither a name nor values.
  const names = (file.header ?? run.request.columns).filter((name) => name.trim() !== '');
  const listed = new Map(fields?.map((field) => [field.name, field]));
  const columns = names.map((name): ListedField => listed.get(name) ?? { name, type: null, label: null });
  const others = fields?.map(({ name }) => name).filter((name) => !names.includes(name)) ?? null;
  return { columns, others };
}

/** What a manifest says about its publication, besides its warnings; empty for an ordinary export. */
export function publicationWarnings({ state, run, guards, file }: Manifest): string[] {
  const keys = run.differs.length > 0 ? ` (${run.differs.join(', ')})` : '';
  const other = `its plan differs from the configured one${keys}`;
  const unjudged = `This file of the kind ${file.format} was published without being checked: its columns and rows are unknown.`;
  const unread = isUnjudged(file) ? [unjudged] : [];
  if (state === 'unpublished') return [`Readers do not get this file: ${other}.`, ...unread];
  const stopped = guards ? stoppedText(guards, file) : 'was stopped';
  return [
    ...(state === 'quarantined' ? [`A check stopped this file: it ${stopped}.`] : []),
    ...(run.kind === 'partial' ? [`Published for its date alone: ${other}.`] : []),
    ...unread,
  ];
}

/** Whether the file was published without being read, because of its format. */
export function isUnjudged(file: Pick<Manifest['file'], 'format'> | undefined): boolean {
  return file !== undefined && !isReadFormat(file.format);
}
