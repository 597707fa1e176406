import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { RunError } from '../../core/errors.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { compareRuns, type Pointer } from '../../core/export/pointer.ts';
import { createManifests, ifReadable, type PublishedRun } from '../data/stored-manifests.ts';
import { CommandError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Execution, isWithoutJob, type Readers, type Run, type RunContext, runOf, type Standing } from './run.ts';

export type Published = ReturnType<typeof createPublished>;

/**
 * Reads from the bucket which runs are published. Each pointer is read once. If the bucket cannot be read, this is
 * reported once, and runs are shown without these facts: the bucket may be why a run failed.
 */
export function createPublished(
  target: Pick<Target, 's3' | 'BucketName' | 'TimeZone'>,
  warn: (sentence: string) => void,
) {
  const manifests = createManifests(target);
  const pointers = new Map<string, Promise<Pointer | undefined>>();
  const listed = new Map<string, PublishedRun>();
  let broken = false;
  const pointer = (entity: Entity, which: string) => {
    const key = `${entity} ${which}`;
    const reading = pointers.get(key) ?? ifReadable(manifests.pointer(entity, which), warn);
    pointers.set(key, reading);
    return reading;
  };
  const unlessBroken = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return broken ? undefined : await read();
    } catch (error) {
      if (!(error instanceof CommandError || error instanceof RunError)) throw error;
      const what = 'The published files and their dates, rows and bytes are unknown';
      if (!broken) warn(`${what}: the bucket could not be read. ${error.message}`);
      broken = true;
      return undefined;
    }
  };
  const standingOf = async (manifest: Manifest): Promise<Standing> => {
    const { entity, date } = manifest.run;
    const standing = await unlessBroken(async () => {
      const [latest, ofDate] = await Promise.all([pointer(entity, 'latest'), pointer(entity, date)]);
      return standingBy(manifest, latest, ofDate);
    });
    return standing ?? null;
  };
  const ofRun = async (entity: Entity, name: string): Promise<Pick<RunContext, 'published' | 'standing'>> => {
    const known = listed.get(name);
    const published = known ?? (await unlessBroken(() => ifReadable(manifests.manifestOfRun(entity, name), warn)));
    return published ? { published, standing: await standingOf(published.manifest) } : {};
  };
  const readersOf = (entity: Entity, date: string | null): Promise<Readers | undefined> =>
    unlessBroken(async () => {
      const [ofDate, latest] = await Promise.all([date && pointer(entity, date), pointer(entity, 'latest')]);
      return { ofDate: readerOf(ofDate || undefined), latest: readerOf(latest) };
    });
  return {
    standingOf,
    /** The runs that wrote their manifests since a time, by execution name. */
    since: async (entities: Entity[], since: Date): Promise<ReadonlyMap<string, PublishedRun>> => {
      const read = (entity: Entity) => unlessBroken(() => manifests.runs(entity, since, warn));
      for (const run of (await eachOf(entities, read)).flatMap((runs) => runs ?? [])) {
        listed.set(run.manifest.execution, run);
      }
      return listed;
    },
    /** A run with its facts from the bucket: its manifest, its standing, and the published runs if it failed. */
    complete: async (
      execution: Execution,
      found: Pick<RunContext, 'state' | 'waiting'> = {},
    ): Promise<{ run: Run; own?: PublishedRun | undefined }> => {
      const known = { ...found, timeZone: target.TimeZone };
      const run = runOf(execution, known);
      const { entity, outcome, of, status, date } = run;
      const isUnpublished = outcome === 'running' && !known.state?.manifestKey;
      if (!entity || isUnpublished || isWithoutJob(run)) return { run };
      const released = outcome === 'release' || outcome === 'withoutTable' ? of : null;
      const name = run.what === 'export' ? run.run : released;
      const own = name === null ? {} : await ofRun(entity, name);
      const failed = status !== 'SUCCEEDED' && status !== 'RUNNING';
      const readers = failed ? await readersOf(entity, own.published?.manifest.run.date ?? date) : undefined;
      return { run: runOf(execution, { ...known, ...own, readers }), own: own.published };
    },
  };
}

function standingBy(manifest: Manifest, latest: Pointer | undefined, ofDate: Pointer | undefined): Standing {
  if (manifest.execution === latest?.execution) return 'latest';
  if (manifest.execution === ofDate?.execution) return 'current';
  // Only pointers count: a run may have failed after it wrote its manifest. No pointer ever named an unpublished file.
  if (manifest.state === 'unpublished') return null;
  return ofDate && compareRuns(ofDate, { ...manifest, ...manifest.run }) >= 0 ? 'superseded' : null;
}

function readerOf(pointer: Pointer | undefined): Readers['latest'] {
  return pointer ? { date: pointer.date, run: pointer.execution } : null;
}
