import { onlyOf, requiredOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { RunError } from '../errors.ts';
import { exceptedIn, labelsIn } from '../excepted-columns.ts';
import { quotedName } from '../suggestion.ts';
import type { ExportInput } from './input.ts';
import type { LeftOut } from './left-out.ts';

/**
 * Refuses to ask for a column that is left out, or to select by it: either would tell what is in it.
 * @throws RunError `InvalidInput` where the input does, `ConfigInvalid` where the configuration does
 */
export function refuseLeftOut(leftOut: readonly LeftOut[], plan: EntityPlan, input: ExportInput): void {
  const asked = { columns: input.columns, filters: input.filters, sorts: input.sorts };
  const byInput = namedIn(leftOut, asked);
  if (byInput.length > 0) {
    const what = `The configuration leaves out ${quoted(byInput)} (columns.except): no input can ask for it.`;
    throw new RunError('InvalidInput', what);
  }
  const byFile = namedIn(leftOut, {
    columns: [...((input.columns === undefined && onlyOf(plan)) || []), ...requiredOf(plan)],
    filters: input.filters === undefined ? plan.filters : undefined,
    sorts: input.sorts === undefined ? plan.sorts : undefined,
  });
  if (byFile.length === 0) return;
  const what = `The configuration of ${input.entity} names ${quoted(byFile)} in columns, filters or sorts, which columns.except leaves out.`;
  throw new RunError('ConfigInvalid', what);
}

function namedIn(
  leftOut: readonly LeftOut[],
  { columns, filters, sorts }: { columns: ExportInput['columns']; filters: unknown; sorts: unknown },
): LeftOut[] {
  const selected = [filters, sorts];
  return leftOut.filter(
    ({ entry, name, label }) =>
      (Array.isArray(columns) && columns.includes(name)) ||
      exceptedIn(selected, entry === null ? [name] : [name, entry]).length > 0 ||
      labelsIn(selected, label === null ? [] : [label]).length > 0,
  );
}

function quoted(leftOut: LeftOut[]): string {
  return [...new Set(leftOut.map(({ name }) => name))]
    .slice(0, 20)
    .map((name) => quotedName(name))
    .join(', ');
}
