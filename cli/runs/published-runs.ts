import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { RunError } from '../../core/errors.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { compareRuns, type Pointer } from '../../core/export/pointer.ts';
import { createManifests, ifReadable, type PublishedRun } from '../data/stored-manifests.ts';
import { CommandError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type FoundRun, type Joined, type Known, type Readers, runOf, type Standing } from './run.ts';

type Warn = (sentence: string) => void;
export type Published = ReturnType<typeof createPublished>;

/**
 * Reads from the bucket which runs are published. Each pointer is read once. If the bucket cannot be read, this is
 * reported once, and runs are shown without these facts: the bucket may be why a run failed.
 */
export function createPublished(target: Pick<Target, 's3' | 'BucketName'>, warn: Warn) {
  const manifests = createManifests(target);
  const pointers = new Map<string, Promise<Pointer | undefined>>();
  let broken = false;
  let listed: Map<string, Joined> | undefined;
  const pointer = (entity: Entity, which: string) => {
    const key = `${entity} ${which}`;
    const reading = pointers.get(key) ?? ifReadable(manifests.pointer(entity, which), warn);
    pointers.set(key, reading);
    return reading;
  };
  const join = async (run: PublishedRun): Promise<Joined> => ({ ...run, standing: await standingOf(run.manifest) });
  const standingOf = async (manifest: Manifest): Promise<Standing> => {
    const { entity, date, execution } = manifest;
    const [latest, ofDate] = await Promise.all([pointer(entity, 'latest'), pointer(entity, date)]);
    if (execution === latest?.execution) return 'latest';
    if (execution === ofDate?.execution) return 'current';
    // Only pointers count: a run may have failed after it wrote its manifest.
    return ofDate && compareRuns(ofDate, manifest) >= 0 ? 'superseded' : null;
  };
  const unlessBroken = async <T>(look: () => Promise<T>): Promise<T | undefined> => {
    try {
      return broken ? undefined : await look();
    } catch (error) {
      if (!(error instanceof CommandError || error instanceof RunError)) throw error;
      const what = 'What readers have, and dates, rows and bytes of what was published, are not known';
      if (!broken) warn(`${what}: the bucket could not be read. ${error.message}`);
      broken = true;
      return undefined;
    }
  };
  const run = (entity: Entity, name: string) =>
    unlessBroken(async () => {
      const found = await ifReadable(manifests.manifestOfRun(entity, name), warn);
      return found && join(found);
    });
  return {
    /** The standing of a run whose manifest is already read; null also if the bucket cannot be read. */
    standing: async (manifest: Manifest) => (await unlessBroken(() => standingOf(manifest))) ?? null,
    /**
     * The runs that wrote their manifests since a time, by execution name. After this call, `own` looks up only these
     * runs.
     */
    since: async (entities: Entity[], since: Date): Promise<Map<string, Joined>> => {
      const read = async (entity: Entity) => eachOf(await manifests.runs(entity, since, warn), join);
      const all = await unlessBroken(() => eachOf(entities, read));
      listed = new Map((all ?? []).flat().map((run) => [run.manifest.execution, run]));
      return listed;
    },
    /** The manifest of a run; `undefined` if the run wrote none. */
    own: async (entity: Entity, name: string) => (listed ? listed.get(name) : await run(entity, name)),
    /** The manifest of a run that may be older than the listed ones. */
    run: async (entity: Entity, name: string) => listed?.get(name) ?? (await run(entity, name)),
    /** The published runs of a date and of `latest`; `undefined` if they are not known. */
    readers: (entity: Entity, date: string | null): Promise<Readers | undefined> =>
      unlessBroken(async () => {
        const named = async (which: string | null) => {
          const found = which === null ? undefined : await pointer(entity, which);
          return found ? { date: found.date, run: found.execution } : null;
        };
        const [ofDate, latest] = await Promise.all([named(date), named('latest')]);
        return { ofDate, latest };
      }),
  };
}

/** A run with its facts from the bucket: its manifest, its standing, and the published runs. */
export async function completeRun(published: Published, found: FoundRun, known: Known = {}) {
  const { entity, outcome, run: name, date, what, of, status } = runOf(found, known);
  const asked = entity !== null && outcome !== 'notDue' && outcome !== 'alreadyStarted';
  if (!asked || (outcome === 'running' && !known.state?.manifestKey)) return { run: runOf(found, known) };
  const released = outcome === 'release' || outcome === 'withoutTable' ? of : null;
  const own = what === 'export' ? published.own(entity, name) : released && published.run(entity, released);
  const failed = status !== 'SUCCEEDED' && status !== 'RUNNING';
  const joined = (await own) || undefined;
  const readers = failed ? await published.readers(entity, joined?.manifest.date ?? date) : undefined;
  return { run: runOf(found, { ...known, published: joined, readers }), own: joined };
}
