import type { ConfiguredColumns } from './entity-settings.ts';

/** Reads the parts of an entity's `columns` setting. */

interface Columns {
  columns: ConfiguredColumns;
}
type Chosen = Extract<ConfiguredColumns, { except?: unknown }>;

/** The `columns` setting as an object, in whichever form it is written. */
function chosenOf({ columns }: Columns): Chosen {
  if (Array.isArray(columns)) return { only: columns };
  return columns === 'all' ? {} : columns;
}

/** The columns to request; `undefined`: all. */
export function onlyOf(plan: Columns): string[] | undefined {
  return chosenOf(plan).only;
}

/** The entries of `columns.except`, as written. `core/columns/left-out.ts` finds the columns that they name. */
export function exceptedOf(plan: Columns): string[] {
  return chosenOf(plan).except ?? [];
}

/** Columns that an export must have. */
export function requiredOf(plan: Columns): string[] {
  return chosenOf(plan).required ?? [];
}

/** The field that each header text names; `null`: no field. */
export function labelsOf(plan: Columns): Readonly<Record<string, string | null>> {
  return chosenOf(plan).labels ?? {};
}

/** Whether files have no header, so that every record is a row. */
export function isHeaderless(plan: Columns): boolean {
  return chosenOf(plan).header === 'none';
}

/** The sheet of a workbook to read, and other sheets that may exist. */
export function sheetsOf(plan: Columns): { sheet: string | undefined; otherSheets: readonly string[] } {
  const { sheet, otherSheets = [] } = chosenOf(plan);
  return { sheet, otherSheets };
}
