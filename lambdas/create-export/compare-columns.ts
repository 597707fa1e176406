import { entityPlan } from '../../core/config/entity-plan.ts';
import { exceptedOf } from '../../core/config/excepted-columns.ts';
import type { Field } from '../../core/crm/fields.ts';
import { changesBetween, comparable, driftOf } from '../../core/export/drift.ts';
import { judgeChanges } from '../../core/export/drift-policy.ts';
import type { ExportInput } from '../../core/export/input.ts';
import { exceptedFields } from '../../core/export/request.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { lastColumns } from './last-columns.ts';

export type Compared = Pick<Run, 'excepted' | 'drift' | 'remarks' | 'schemaChanges'>;

interface Deps extends Invocation {
  /** Of the execution. */
  machineVersion: number;
  read: Bucket['read'];
}

/**
 * Compares the columns that the CRM lists with those of the newest published export. One that cannot be made stops no night,
 * and an execution that began under an earlier release makes none.
 * @param columns of the request
 * @throws RunError `SchemaChanged` where the configuration stops at a change that nobody has accepted
 */
export async function compareColumns(
  fields: readonly Field[],
  columns: string[],
  { entity, date, acceptSchema }: ExportInput & { date: string },
  { machineVersion, deployment, read }: Deps,
): Promise<Compared> {
  const plan = entityPlan(deployment, entity);
  const except = exceptedOf(plan);
  const nothing = { excepted: exceptedFields(fields, except), drift: null, remarks: [], schemaChanges: 0 };
  const last = machineVersion < 2 ? undefined : await lastColumns(read, entity);
  if (!last) return nothing;
  if ('unknown' in last) {
    const remark = `The columns are not compared with those of the last published export: ${last.unknown}.`;
    return { ...nothing, remarks: [remark] };
  }
  const before = last.fields.filter(({ name }) => !except.includes(name));
  const changes = changesBetween(before, comparable(fields, columns, except));
  const judged = judgeChanges(changes, last.since.date, plan.drift, { entity, date, acceptSchema });
  return { ...nothing, drift: driftOf(changes, last.since), ...judged };
}
