import { exceptedOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { exceptedAmong } from '../../core/table/covered-columns.ts';
import { type Finding, warning } from '../checks/finding.ts';
import { createManifests, ifReadable, type Manifests } from '../data/manifests.ts';
import type { Target } from '../support/target.ts';
import { manyText } from '../support/text.ts';

/** Published files that still have a column which the configuration leaves out today, by their manifests. */
export async function leftOutFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
): Promise<Finding[]> {
  const manifests = createManifests(target);
  const findings: Finding[] = [];
  for (const entity of ENTITIES) {
    const except = exceptedOf(deployment.entities[entity]);
    if (except.length === 0) continue;
    findings.push(...findingOf(entity, await publishedFiles(manifests, entity), except));
  }
  return findings;
}

/** Manifests of all published dates, oldest first. */
async function publishedFiles(manifests: Manifests, entity: Entity): Promise<Manifest[]> {
  const unreadable = () => undefined;
  const found = await eachOf(await manifests.dates(entity), async (date) => {
    const pointer = await ifReadable(manifests.pointer(entity, date), unreadable);
    return pointer && ifReadable(manifests.manifest(pointer.manifestKey), unreadable);
  });
  return found.filter((manifest) => manifest !== undefined);
}

function findingOf(entity: Entity, published: Manifest[], except: string[]): Finding[] {
  const newest = published.slice(-1);
  const having = published.filter((manifest) => {
    // A file whose header is not known may have what was requested.
    const names = manifest.file.header ?? manifest.request.columns;
    return exceptedAmong(names, [manifest, ...newest], except).length > 0;
  });
  const first = having[0];
  const last = having.at(-1);
  if (!first || !last) return [];
  const kept = having.map(({ keptUntil }) => keptUntil).sort();
  const what = `${manyText(having.length, 'published file')} of ${entity} still ${having.length === 1 ? 'has' : 'have'} columns that the configuration leaves out today`;
  const dates = first === last ? first.date : `${first.date} to ${last.date}`;
  const advice = `Files stay as they were published, until ${kept.at(-1)} at the latest (retentionDays). Who must not see these columns must not read runs/ until then, or remove these files from the bucket.`;
  return [{ ...warning(`${what} (${dates}).`, advice), of: entity }];
}
