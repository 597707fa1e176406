import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import { judgeExport } from '../../core/export/judge.ts';
import { factsToday, judgedAgain } from '../../core/export/judged-again.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Facts } from '../../core/gate/facts.ts';
import { failedChecks } from '../../core/gate/report.ts';
import { isReleasable, stoppedText } from '../../core/gate/words.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import { RUN_FAILED } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Check, failed, ok, warning } from './check.ts';

/** Reads the content of a published file, under the settings of today. */
export type ReadFacts = (manifest: Manifest, deployment: Deployment) => Promise<Facts>;

const ID = 'tonight';

/**
 * Passes the newest export of each entity through the gate of today's settings: what stops it would stop a file of tonight
 * that is like it.
 * @param read by its bytes; default: by what its manifest says of them
 */
export async function tonightChecks(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
  { now, read }: { now: () => Date; read?: ReadFacts | undefined },
): Promise<Check[]> {
  const enabled = ENTITIES.filter((entity) => entityPlan(deployment, entity).enabled);
  const found: Check[] = [];
  const [looked, unread]: [Entity[], Entity[]] = [[], []];
  for (const entity of enabled) {
    const manifest = await newestOf(target, entity);
    (manifest ? looked : unread).push(entity);
    if (manifest) found.push(...(await checkOf(manifest)));
  }
  return [...found, ...summary(looked.length - found.length, unread)];

  async function checkOf(manifest: Manifest): Promise<Check[]> {
    const { entity, date } = manifest;
    const judged = judgedAgain(manifest, entityPlan(deployment, entity));
    const facts = read ? await read(manifest, deployment) : factsToday(manifest, judged.excepted);
    const bucket = createBucket(target.s3, target.BucketName);
    const { report, facts: known } = await judgeExport(judged, facts, { bucket, deployment, now });
    if (!report || failedChecks(report).length === 0) return [];
    const text = `A file of ${entity} like that of ${date} would be withheld: it ${stoppedText(report, known)}.`;
    if (isReleasable(report)) return [warning(`${ID}.${entity}`, text, WITHHELD)];
    return [failed(`${ID}.${entity}`, text, WITHHELD_FOR_GOOD, RUN_FAILED)];
  }
}

const WITHHELD =
  'If such files are right, change the setting that is named here and deploy; else a person has to release the file of tonight.';
const WITHHELD_FOR_GOOD =
  'Nobody can release such a file: change columns in the configuration, or the export at the CRM.';

function summary(passed: number, unread: Entity[]): Check[] {
  const none = `Of ${unread.join(', ')} nothing is published that could be looked at.`;
  return [
    ...(passed > 0 ? [ok(ID, `The newest exports of ${passed} entities pass the gate of today's settings.`)] : []),
    ...(unread.length > 0 ? [ok(`${ID}.first`, none)] : []),
  ];
}

async function newestOf(target: Pick<Target, 's3' | 'BucketName'>, entity: Entity): Promise<Manifest | undefined> {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
  return pointer && ifReadable(manifests.manifest(pointer.manifestKey), unreadable);
}
