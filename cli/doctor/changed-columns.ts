import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { chooseColumns } from '../../core/export/choose-columns.ts';
import { judgeChanges } from '../../core/export/drift-policy.ts';
import { changesSince } from '../../core/export/left-out.ts';
import { about, type Finding, warning } from '../checks/finding.ts';
import { findingOf } from '../checks/finding-of.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import type { Target } from '../support/target.ts';
import type { Listed } from './columns.ts';

/**
 * The columns that the CRM lists against those of the newest published export, by the rules of a run. Nothing where they are
 * the same, accepted, or cannot be compared: that stops no run.
 * @param date of the run that a person would start
 */
export function changedColumns(deployment: Deployment, { entity, fields, last }: Listed, date: string): Finding[] {
  if (!last?.fields) return [];
  const of = `${entity}.changed`;
  const plan = deployment.entities[entity];
  try {
    const changes = changesSince(last.fields, fields, chooseColumns(plan, { entity }, fields, last), plan);
    const { remarks } = judgeChanges(changes, last.date, plan.drift, { entity, date });
    const advice = 'The next run exports them as they are, and its manifest says so: tell the readers of the files.';
    return remarks.length > 0 ? [about(of, warning(remarks.join(' '), advice))] : [];
  } catch (error) {
    return [about(of, findingOf(error))];
  }
}

/** The manifest of the newest published export; `undefined` where there is none, or none that can be read. */
export async function newestManifest(target: Pick<Target, 's3' | 'BucketName'>, entity: Entity) {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
  return pointer && ifReadable(manifests.manifest(pointer.manifestKey), unreadable);
}
