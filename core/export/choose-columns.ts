import { requiredOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { ListedField } from './column-drift.ts';
import type { ExportInput } from './input.ts';
import { type LastPublished, type LeftOut, leftOutOf } from './left-out.ts';
import { planOf } from './plan.ts';
import { refuseLeftOut } from './refuse-left-out.ts';
import { refuseMissing, resolveColumns } from './request.ts';

interface Chosen {
  /** The columns that the export requests. */
  columns: string[];
  leftOut: LeftOut[];
  /** Warnings. */
  remarks: string[];
}

/**
 * What a run requests of the columns that the CRM lists, and what must not come.
 * @param last what the newest published export says, `undefined` where that is not known
 * @throws RunError `ConfigInvalid`, `InvalidInput` or `SchemaChanged`: nothing can be requested so
 */
export function chooseColumns(
  plan: EntityPlan,
  input: ExportInput,
  fields: readonly ListedField[],
  last: LastPublished | undefined,
): Chosen {
  const { entity } = input;
  const { leftOut, remarks } = leftOutOf(plan, entity, fields, last);
  refuseLeftOut(leftOut, plan, input);
  const names = fields.map(({ name }) => name);
  const columns = resolveColumns(planOf(plan, input).columns, names, entity, leftOut);
  refuseMissing(requiredOf(plan), columns, entity);
  return { columns, leftOut, remarks };
}
