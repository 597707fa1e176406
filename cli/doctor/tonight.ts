import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { readContent } from '../../core/content/read-content.ts';
import { judgeExport } from '../../core/export/judge.ts';
import { factsToday, judgedAgain } from '../../core/export/judged-again.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { expectedOf } from '../../core/files/expected.ts';
import type { Expected } from '../../core/files/judge-file.ts';
import type { Facts } from '../../core/gate/facts.ts';
import { failedChecks } from '../../core/gate/report.ts';
import { isReleasable, stoppedText } from '../../core/gate/words.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { objectSource } from '../../core/storage/object-source.ts';
import { broken, type Finding, holds, warning } from '../checks/finding.ts';
import { findingOf } from '../checks/finding-of.ts';
import type { Target } from '../support/target.ts';
import { newestManifest } from './changed-columns.ts';

/**
 * Passes the newest export of each entity through the gate of today's settings: what stops it would stop a file of tonight
 * that is like it.
 * @param read by its bytes, all of which are read; default: by what its manifest says of them
 */
export async function tonightFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
  { now, read = false }: { now: () => Date; read?: boolean | undefined },
): Promise<Finding[]> {
  const enabled = ENTITIES.filter((entity) => deployment.entities[entity].enabled);
  const found: Finding[] = [];
  const looked: Entity[] = [];
  const unread: Entity[] = [];
  for (const entity of enabled) {
    const manifest = await newestManifest(target, entity);
    (manifest ? looked : unread).push(entity);
    const findings = manifest ? await judged(manifest).catch((error: unknown) => [findingOf(error)]) : [];
    found.push(...findings.map((finding) => ({ ...finding, of: entity })));
  }
  return [...found, ...summary(looked.length - found.length, unread)];

  async function judged(manifest: Manifest): Promise<Finding[]> {
    const { entity, date } = manifest;
    const subject = judgedAgain(manifest, deployment.entities[entity]);
    const bucket = createBucket(target.s3, target.BucketName);
    const facts = read
      ? await factsByBytes(bucket, manifest, expectedOf(subject, deployment))
      : factsToday(manifest, subject.excepted);
    const { report, facts: known } = await judgeExport(subject, facts, { bucket, deployment, now });
    if (!report || failedChecks(report).length === 0) return [];
    const text = `A file of ${entity} like that of ${date} would be withheld: it ${stoppedText(report, known)}.`;
    if (isReleasable(report)) return [warning(text, WITHHELD)];
    return [broken(text, WITHHELD_FOR_GOOD)];
  }
}

/** @throws RunError `FileRejected` for what is no export under the settings of today */
async function factsByBytes(bucket: Bucket, { file }: Manifest, expected: Expected): Promise<Facts> {
  const { key, bytes, contentType } = file;
  const limits = { maxBytes: Number.POSITIVE_INFINITY, secondsLeft: () => Number.POSITIVE_INFINITY };
  const reading = { expected, what: `The file at ${key}`, contentType, undeclaredEnd: false, ...limits };
  return (await readContent(objectSource(bucket, key, bytes), reading)).facts;
}

const WITHHELD =
  'If such files are right, change the setting that is named here and deploy; else a person has to release the file of tonight.';
const WITHHELD_FOR_GOOD =
  'Nobody can release such a file: change columns in the configuration, or the export at the CRM.';

function summary(passed: number, unread: Entity[]): Finding[] {
  const none = `Of ${unread.join(', ')} nothing is published that could be looked at.`;
  return [
    ...(passed > 0 ? [holds(`The newest exports of ${passed} entities pass the gate of today's settings.`)] : []),
    ...(unread.length > 0 ? [{ ...holds(none), of: 'first' }] : []),
  ];
}
