import type { Entity } from '../../../core/config/entities.ts';
import { eachOf } from '../../../core/each-of.ts';
import { RunError } from '../../../core/errors.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { comparePlaces, type Pointer } from '../../../core/export/pointer.ts';
import { createManifests, ifReadable, type Manifests, type PublishedRun } from '../../data/manifests.ts';
import { CommandError } from '../../support/exit.ts';
import type { Target } from '../../support/target.ts';

/** Of a published run, by the pointers: of the newest date, of its date, or replaced by a later run; null without a pointer. */
export type Standing = 'latest' | 'current' | 'superseded' | null;

export type RunWithStanding = PublishedRun & { standing: Standing };

type Warn = (sentence: string) => void;

/** Published runs by the name of the execution; none, with a warning, where the bucket cannot be read. */
export async function publishedOrNone(
  target: Pick<Target, 's3' | 'BucketName'>,
  entities: Entity[],
  { since, warn }: { since: Date; warn: Warn },
): Promise<Map<string, RunWithStanding>> {
  try {
    return await publishedRuns(createManifests(target), entities, since, warn);
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof RunError)) throw error;
    warn(`Dates, rows and bytes of what was published are not shown: the bucket could not be read. ${error.message}`);
    return new Map();
  }
}

async function publishedRuns(manifests: Manifests, entities: Entity[], since: Date, warn: Warn) {
  const all = await eachOf(entities, async (entity) => {
    const named = (which: string) => ifReadable(manifests.pointer(entity, which), warn);
    const [runs, latest] = await Promise.all([manifests.runs(entity, since, warn), named('latest')]);
    const dates = [...new Set(runs.map(({ manifest }) => manifest.date))];
    const pointers = new Map(await eachOf(dates, async (date) => [date, await named(date)] as const));
    return runs.map((run) => ({ ...run, standing: standingOf(run.manifest, pointers.get(run.manifest.date), latest) }));
  });
  return new Map(all.flat().map((run) => [run.manifest.execution, run]));
}

/** Only the pointers count: a run may have failed after it wrote its manifest. */
function standingOf(manifest: Manifest, ofDate: Pointer | undefined, latest: Pointer | undefined): Standing {
  if (manifest.execution === latest?.execution) return 'latest';
  if (manifest.execution === ofDate?.execution) return 'current';
  return ofDate && comparePlaces(ofDate, manifest) >= 0 ? 'superseded' : null;
}

export async function standingBy(manifests: Manifests, manifest: Manifest, warn: Warn): Promise<Standing> {
  const named = (which: string) => ifReadable(manifests.pointer(manifest.entity, which), warn);
  const [latest, ofDate] = await Promise.all([named('latest'), named(manifest.date)]);
  return standingOf(manifest, ofDate, latest);
}
