import { ENTITIES, type Entity, entitySchema } from '../../../core/config/entities.ts';
import { eachOf, type Manifests, type PublishedRun } from '../../data/manifests.ts';
import type { Target } from '../../support/target.ts';
import { FORGOTTEN_AFTER_DAYS } from '../list/list-runs.ts';
import { standingBy } from '../list/published-runs.ts';
import { linksOf } from './links.ts';
import type { ShownRun } from './show-run.ts';
import type { Moment } from './timeline.ts';

type Place = Pick<Target, 'BucketName' | 'StateMachineArn' | 'downloadLogGroup'>;

/** The name gives the key of the manifest. */
export async function forgottenRun(manifests: Manifests, run: string): Promise<PublishedRun | undefined> {
  const name = run.split(':').at(-1) ?? run;
  if (entitySchema.safeParse(name).success) return newestOf(manifests, name as Entity);
  const found = await eachOf(ENTITIES, (entity) => manifests.manifestOfRun(entity, name));
  return found.find((one) => one !== undefined);
}

async function newestOf(manifests: Manifests, entity: Entity): Promise<PublishedRun | undefined> {
  const pointer = await manifests.pointer(entity, 'latest');
  return pointer && manifests.manifestOfRun(entity, pointer.execution);
}

/** All that a manifest knows of its run. */
export async function ofManifest(
  target: Place,
  manifests: Manifests,
  published: PublishedRun,
  endpoint: string | undefined,
): Promise<ShownRun> {
  const { manifest, manifestKey } = published;
  const { entity, date, startedAt, file, execution, keptUntil } = manifest;
  const warnings = [...manifest.warnings];
  const { id, createdAt, storedAt, checks } = manifest.export;
  const at = (time: string, phase: Moment['phase'], text: string): Moment => ({ at: time, phase, seconds: null, text });
  return {
    ...{ run: execution, executionArn: null, entity, date, status: null, error: null, cause: null, runbook: null },
    ...{ startedAt, endedAt: null, seconds: null, exportId: id, checks, rows: file.rows, bytes: file.bytes, warnings },
    standing: await standingBy(manifests, manifest, (sentence) => void warnings.push(sentence)),
    timeline: [
      at(
        startedAt,
        'begin',
        `Started, more than ${FORGOTTEN_AFTER_DAYS} days ago or in another machine: its manifest tells alone.`,
      ),
      at(createdAt, 'create', `Export ${id} of ${date} created.`),
      at(storedAt, 'download', 'File stored.'),
    ],
    files: { bucket: target.BucketName, key: file.key, manifestKey, keptUntil },
    ...{ waiting: null, readers: null, makeUp: null },
    links: linksOf(target, null, target.StateMachineArn, endpoint),
  };
}
