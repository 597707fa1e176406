import type { Manifests, PublishedRun } from '../../data/manifests.ts';
import { remarksOf } from '../../data/remarks.ts';
import type { Target } from '../../support/target.ts';
import { FORGOTTEN_AFTER_DAYS } from '../list/list-runs.ts';
import { standingBy } from '../list/published-runs.ts';
import { linksOf } from './links.ts';
import { publicationOf, type ShownRun } from './show-run.ts';
import type { Moment } from './timeline.ts';

/** All that a manifest knows of its run. */
export async function ofManifest(
  target: Pick<Target, 'BucketName' | 'StateMachineArn' | 'downloadLogGroup'>,
  manifests: Manifests,
  published: PublishedRun,
  endpoint: string | undefined,
): Promise<ShownRun> {
  const { manifest, manifestKey } = published;
  const { entity, date, startedAt, file, execution, keptUntil } = manifest;
  const warnings = [...remarksOf(manifest), ...manifest.warnings];
  const warn = (sentence: string) => void warnings.push(sentence);
  const { id, createdAt, adoptedFrom, storedAt, checks } = manifest.export;
  const at = (time: string, phase: Moment['phase'], text: string): Moment => ({ at: time, phase, seconds: null, text });
  const begin = `Started, more than ${FORGOTTEN_AFTER_DAYS} days ago or in another machine: its manifest tells alone.`;
  return {
    ...{ run: execution, executionArn: null, entity, date, status: null, error: null, cause: null, runbook: null },
    ...{ startedAt, endedAt: null, seconds: null, exportId: id, checks, rows: file.rows, bytes: file.bytes, warnings },
    standing: await standingBy(manifests, manifest, warn),
    ...(await publicationOf(manifests, manifest, warn)),
    ...{ releases: null, tableOf: null, table: null },
    timeline: [
      at(startedAt, 'begin', begin),
      adoptedFrom === null
        ? at(createdAt, 'create', `Export ${id} of ${date} created.`)
        : at(startedAt, 'create', `Export ${id} of ${date} adopted from ${adoptedFrom}: created at ${createdAt}.`),
      at(storedAt, 'download', 'File stored.'),
    ],
    files: { bucket: target.BucketName, key: file.key, manifestKey, keptUntil },
    ...{ waiting: null, withoutJob: null, readers: null, makeUp: null, drift: manifest.drift },
    links: linksOf(target, null, target.StateMachineArn, endpoint),
  };
}
