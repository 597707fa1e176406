import type { ColumnType, TableSettings } from '../config/table-settings.ts';
import { TableError } from './table-error.ts';

export interface TableColumn {
  name: string;
  /** The position in a record of the field that the column is made of, from 0. */
  place: number;
  type: ColumnType;
  /** The values of the column are replaced by keyed hashes. */
  hashed: boolean;
}

/** Names of a file's columns that its table leaves out, and of those that the table has only as hashes. */
export interface Covered {
  left: ReadonlySet<string>;
  hashed: ReadonlySet<string>;
}

export const NOTHING: Covered = { left: new Set(), hashed: new Set() };

/** Names of the table's folders, which readers see as columns. */
const FOLDERS = ['entity', 'date'];

/**
 * The name of a column in the table. Athena reads columns by their names in lower case, and supports only letters,
 * digits and underscores
 * (https://docs.aws.amazon.com/athena/latest/ug/tables-databases-columns-names.html).
 */
export function tableColumnName(field: string): string {
  const name = field
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_]/gu, '_');
  return FOLDERS.includes(name) ? `${name}_` : name;
}

/**
 * The columns of the table of a file, in the order of its fields. Names of columns match in any spelling: both are
 * compared as names of table columns. A field without a name becomes no column.
 * @throws TableError if two columns would have the same name, or no column is left
 */
export function tableColumns(
  fields: readonly string[],
  { columns: typed }: Pick<TableSettings, 'columns'>,
  covered: Covered,
): TableColumn[] {
  const left = new Set([...covered.left].map(tableColumnName));
  const hashed = new Set([...covered.hashed].map(tableColumnName));
  const types = new Map(Object.entries(typed).map(([field, type]) => [tableColumnName(field), type]));
  const columns = fields
    .map((field, place) => ({ field, place, name: tableColumnName(field) }))
    .filter(({ name }) => name !== '' && !left.has(name))
    .map(({ place, name }) => ({ name, place, type: types.get(name) ?? 'text', hashed: hashed.has(name) }));
  refuseUnclear(columns, fields);
  return columns;
}

function refuseUnclear(columns: TableColumn[], fields: readonly string[]): void {
  if (columns.length === 0) throw new TableError('The settings leave out all columns of the table.');
  const places = new Map<string, number>();
  for (const { name, place, type, hashed } of columns) {
    const other = places.get(name);
    if (other !== undefined) {
      throw new TableError(
        `The columns "${fields[other]}" and "${fields[place]}" would both be named "${name}" in the table.`,
      );
    }
    if (hashed && type !== 'text') throw new TableError(`The column "${name}" is hashed, so it has no type.`);
    places.set(name, place);
  }
}

/** Names in settings that match no field of the file. */
export function missingFields(fields: readonly string[], named: readonly string[]): string[] {
  const present = new Set(fields.map(tableColumnName));
  return named.filter((field) => !present.has(tableColumnName(field)));
}
