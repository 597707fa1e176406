import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import { exceptedOf } from '../../core/config/excepted-columns.ts';
import type { Field } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import { changesBetween, comparable } from '../../core/export/drift.ts';
import { judgeChanges } from '../../core/export/drift-policy.ts';
import { planOf } from '../../core/export/plan.ts';
import { resolveColumns } from '../../core/export/request.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import { CommandError } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Check, failedBy, warning } from './check.ts';

/**
 * The columns that the CRM lists against those of the newest published export, by the rules of a run. Nothing where they are
 * the same, accepted, or cannot be compared: that stops no run.
 * @param date of the run that a person would start
 */
export async function driftChecks(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
  { entity, fields, date }: { entity: Entity; fields: Field[]; date: string },
): Promise<Check[]> {
  const last = await newestManifest(target, entity).catch((error: unknown) => {
    if (error instanceof CommandError || error instanceof RunError) return error;
    throw error;
  });
  if (last instanceof Error) {
    return [warning('drift', 'Whether columns have changed since the last export is not known.', last.message)];
  }
  if (!last?.fields) return [];
  const id = `drift.${entity}`;
  const plan = entityPlan(deployment, entity);
  try {
    const except = exceptedOf(plan);
    const names = fields.map(({ name }) => name);
    const columns = resolveColumns(planOf(plan).columns, names, entity);
    const before = last.fields.filter(({ name }) => !except.includes(name));
    const changes = changesBetween(before, comparable(fields, columns, except));
    const { remarks } = judgeChanges(changes, last.date, plan.drift, { entity, date });
    const advice = 'The next run exports them as they are, and its manifest says so: tell the readers of the files.';
    return remarks.length > 0 ? [warning(id, remarks.join(' '), advice)] : [];
  } catch (error) {
    return [failedBy(id, error)];
  }
}

async function newestManifest(target: Pick<Target, 's3' | 'BucketName'>, entity: Entity) {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
  return pointer && ifReadable(manifests.manifest(pointer.manifestKey), unreadable);
}
