import type { ConfiguredColumns } from './entity-settings.ts';

/** What the configuration says of the columns of an entity, part by part. */

interface Columns {
  columns: ConfiguredColumns;
}
type Chosen = Extract<ConfiguredColumns, { except?: unknown }>;

/** All that is configured of the columns, as an object. */
function chosenOf({ columns }: Columns): Chosen {
  if (Array.isArray(columns)) return { only: columns };
  return columns === 'all' ? {} : columns;
}

/** The list of columns that are requested; `undefined`: all. */
export function onlyOf(plan: Columns): string[] | undefined {
  return chosenOf(plan).only;
}

/** What the configuration leaves out, as it is written. Which columns it means: `core/columns/left-out.ts`. */
export function exceptedOf(plan: Columns): string[] {
  return chosenOf(plan).except ?? [];
}

/** Columns without which the configuration wants no export. */
export function requiredOf(plan: Columns): string[] {
  return chosenOf(plan).required ?? [];
}

/** Texts of headers, and the field that each one names; `null` = none. */
export function labelsOf(plan: Columns): Readonly<Record<string, string | null>> {
  return chosenOf(plan).labels ?? {};
}

/** Files have no header: all of their records are rows. */
export function isHeaderless(plan: Columns): boolean {
  return chosenOf(plan).header === 'none';
}

/** The sheet of a workbook that is read, and those that may be there besides. */
export function sheetsOf(plan: Columns): { sheet: string | undefined; otherSheets: readonly string[] } {
  const { sheet, otherSheets = [] } = chosenOf(plan);
  return { sheet, otherSheets };
}
