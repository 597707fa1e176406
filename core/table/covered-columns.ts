import { meantInRuns, type RunColumns } from '../columns/left-out.ts';
import { exceptedOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import { type Covered, tableColumnName } from './table-columns.ts';
import { TableError } from './table-error.ts';

/**
 * The columns of a file that today's settings leave out of its table or hash. The date of the file does not matter.
 * @param names of the file's columns
 * @param manifests the file's own first, then that of the newest published file: it shows what the settings name today
 * @throws TableError if an entry matches no known column, or if an entry of `tables` matches no column of the file:
 *   the column may be there under another name
 */
export function coveredColumns(
  names: readonly string[],
  runs: readonly RunColumns[],
  plan: Pick<EntityPlan, 'columns' | 'tables'>,
): Covered {
  const meaningOf = (entry: string) => meantInRuns(entry, names, runs).map(({ name }) => name);
  const unrequested = new Set(
    exceptedOf(plan).flatMap((entry) => {
      const meant = meaningOf(entry);
      if (meant.length > 0) return meant;
      throw new TableError(
        `No published file shows which column the entry "${entry}" of \`columns.except\` means. The next file does, and then the table can be written.`,
      );
    }),
  );
  const ofTable = (key: 'except' | 'hash') =>
    (plan.tables?.[key] ?? []).flatMap((entry) => {
      const meant = meaningOf(entry);
      const found = names.filter((name) => meant.includes(name) || tableColumnName(name) === tableColumnName(entry));
      if (found.length > 0 || meant.some((name) => unrequested.has(name))) return found;
      const what = `The file has no column "${entry}", which \`tables.${key}\` names: the column may have another name now.`;
      throw new TableError(what);
    });
  const hashed = new Set(ofTable('hash'));
  return { left: new Set([...names.filter((name) => unrequested.has(name)), ...ofTable('except')]), hashed };
}
