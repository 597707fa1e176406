import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { RunError } from '../../core/errors.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { compareRuns, type Pointer } from '../../core/export/pointer.ts';
import { createManifests, ifReadable } from '../data/stored-manifests.ts';
import { describeError } from '../support/aws-error.ts';
import { CommandError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Execution, hasNoExport, type Readers, type Run, type RunContext, runOf, type Standing } from './run.ts';

export type Published = ReturnType<typeof createPublished>;

/**
 * Reads from the bucket which runs are published. Each pointer is read once. If the bucket cannot be read, this is
 * reported once, and runs are shown without these facts: the bucket may be why a run failed.
 */
export function createPublished(target: Target, warn: (sentence: string) => void) {
  const manifests = createManifests(target);
  const pointers = new Map<string, Promise<Pointer | undefined>>();
  const listed = new Map<string, Manifest>();
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
      if (!broken) warn(`${what}: the bucket could not be read. ${describeError(error).sentence}`);
      broken = true;
      return undefined;
    }
  };
  /** The manifest of the file that a run stored, released, or failed to write the table of. */
  const ownOf = async (entity: Entity, { what, run, outcome, of }: Run) => {
    const handled = outcome === 'release' || outcome === 'withoutTable' ? of : null;
    const name = what === 'export' ? run : handled;
    if (name === null) return undefined;
    return listed.get(name) ?? (await unlessBroken(() => ifReadable(manifests.manifestOfRun(entity, name), warn)));
  };
  const pointersOf = (entity: Entity, date: string | null): Promise<Pointers> =>
    unlessBroken(() => Promise.all([pointer(entity, 'latest'), date ? pointer(entity, date) : undefined]));
  return {
    standingOf: async (manifest: Manifest): Promise<Standing> =>
      standingBy(manifest, await pointersOf(manifest.run.entity, manifest.run.date)),
    /** For each run that wrote its manifest since a time: the entity, by the name of the execution. */
    since: async (entities: Entity[], since: Date): Promise<ReadonlyMap<string, Entity>> => {
      const read = (entity: Entity) => unlessBroken(() => manifests.runs(entity, since, warn));
      const found = (await eachOf(entities, read)).flatMap((runs) => runs ?? []);
      for (const manifest of found) listed.set(manifest.execution, manifest);
      return new Map(found.map(({ execution, run }) => [execution, run.entity]));
    },
    /** A run with its facts from the bucket: its manifest, its standing, and the published runs if it failed. */
    complete: async (
      execution: Execution,
      found: RunContext = {},
    ): Promise<{ run: Run; own?: Manifest | undefined }> => {
      const context = { ...found, timeZone: target.TimeZone };
      const run = runOf(execution, context);
      const { entity, outcome, status, date } = run;
      const isUnpublished = outcome === 'running' && !context.state?.manifestKey;
      if (!entity || isUnpublished || hasNoExport(run)) return { run };
      const own = await ownOf(entity, run);
      const hasFailed = status !== 'SUCCEEDED' && status !== 'RUNNING';
      if (!own && !hasFailed) return { run };
      const pointers = await pointersOf(entity, own?.run.date ?? date);
      const standing = own && standingBy(own, pointers);
      const readers = hasFailed ? readersBy(pointers) : undefined;
      return { run: runOf(execution, { ...context, published: own, standing, readers }), own };
    },
  };
}

/** The pointers to the newest file and to that of a date; `undefined` if they could not be read. */
type Pointers = [latest?: Pointer, ofDate?: Pointer] | undefined;

function standingBy(manifest: Manifest, [latest, ofDate]: Pointers = []): Standing {
  if (manifest.execution === latest?.execution) return 'latest';
  if (manifest.execution === ofDate?.execution) return 'current';
  // Only pointers count: a run may have failed after it wrote its manifest. A pointer never names an unpublished file.
  if (manifest.state === 'unpublished') return null;
  return ofDate && compareRuns(ofDate, { ...manifest, ...manifest.run }) >= 0 ? 'superseded' : null;
}

function readersBy(pointers: Pointers): Readers | undefined {
  const [latest = null, ofDate = null] = pointers?.map((one) => one && { date: one.date, run: one.execution }) ?? [];
  return pointers && { ofDate, latest };
}
