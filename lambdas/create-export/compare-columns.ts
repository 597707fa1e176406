import type { EntityPlan } from '../../core/config/entity-settings.ts';
import type { Field } from '../../core/crm/fields.ts';
import { driftOf } from '../../core/export/column-drift.ts';
import { judgeChanges } from '../../core/export/drift-policy.ts';
import type { ExportInput } from '../../core/export/input.ts';
import { changesSince, type LeftOut } from '../../core/export/left-out.ts';
import type { Run } from '../../core/step/states.ts';
import type { LastColumns } from './last-columns.ts';

export type Compared = Pick<Run, 'drift' | 'remarks' | 'schemaChanges'>;

/**
 * Compares the columns that the CRM lists with those of the newest published export. One that cannot be made stops no night.
 * @throws RunError `SchemaChanged` where the configuration stops at a change that nobody has accepted
 */
export function compareColumns(
  fields: readonly Field[],
  chosen: { columns: string[]; leftOut: readonly LeftOut[] },
  last: LastColumns,
  plan: EntityPlan,
  { entity, date, acceptSchema }: ExportInput & { date: string },
): Compared {
  const nothing = { drift: null, remarks: [], schemaChanges: 0 };
  if (!last) return nothing;
  if ('unknown' in last) {
    const remark = `The columns are not compared with those of the last published export: ${last.unknown}.`;
    return { ...nothing, remarks: [remark] };
  }
  const changes = changesSince(last.fields, fields, chosen, plan);
  const judged = judgeChanges(changes, last.since.date, plan.drift, { entity, date, acceptSchema });
  return { drift: driftOf(changes, last.since), ...judged };
}
