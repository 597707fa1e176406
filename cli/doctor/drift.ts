import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { chooseColumns } from '../../core/export/choose-columns.ts';
import { judgeChanges } from '../../core/export/drift-policy.ts';
import { changesSince } from '../../core/export/left-out.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import { CommandError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Check, failedBy, warning } from './check.ts';
import type { Listed } from './columns.ts';

/**
 * The columns that the CRM lists against those of the newest published export, by the rules of a run. Nothing where they are
 * the same, accepted, or cannot be compared: that stops no run.
 * @param date of the run that a person would start
 */
export function driftChecks(deployment: Deployment, { entity, fields, last }: Listed, date: string): Check[] {
  if (!last?.fields) return [];
  const id = `drift.${entity}`;
  const plan = deployment.entities[entity];
  try {
    const changes = changesSince(last.fields, fields, chooseColumns(plan, { entity }, fields, last), plan);
    const { remarks } = judgeChanges(changes, last.date, plan.drift, { entity, date });
    const advice = 'The next run exports them as they are, and its manifest says so: tell the readers of the files.';
    return remarks.length > 0 ? [warning(id, remarks.join(' '), advice)] : [];
  } catch (error) {
    return [failedBy(id, error)];
  }
}

/** The manifest of the newest published export, and a check where that is not known. */
export async function newestManifest(target: Pick<Target, 's3' | 'BucketName'>, entity: Entity) {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  try {
    const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
    const last = pointer && (await ifReadable(manifests.manifest(pointer.manifestKey), unreadable));
    return { last, checks: [] };
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof RunError)) throw error;
    const text = 'Whether columns have changed since the last export is not known.';
    return { last: undefined, checks: [warning('drift', text, error.message)] };
  }
}
