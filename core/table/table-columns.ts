import { fieldsNamedInRuns, type RunColumns } from '../columns/left-out.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { ColumnType, TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import { isEmptyFile, isReadFormat, mayName } from '../gate/facts.ts';
import { TableError } from './table-error.ts';

/** Derives the columns of a table from those of the published file: which are left out or hashed, names and types. */

/** The columns that a table leaves out, and those that it has only as hashes. */
export type HiddenColumns = Pick<TableSettings, 'except' | 'hash'>;

export const hidesAny = ({ except = [], hash = [] }: HiddenColumns) => except.length + hash.length > 0;

type PublishedFile = Pick<Manifest, 'file'> & { run: Pick<Manifest['run'], 'request'> };

/** The columns of a published file, as its table has them. */
export interface FileColumns {
  /** The names in order; '' if the header has no name for a column, which has no values either. */
  names: readonly string[];
  /** The first record is the header, not a row. */
  headed: boolean;
  /** The file itself names the columns. Otherwise they are the requested columns, in order. */
  isNamed: boolean;
}

/** @throws TableError if the columns are not known */
export function fileColumns({ file, run: { request } }: PublishedFile): FileColumns {
  const { format, header, content } = file;
  if (isEmptyFile(file)) return { names: request.columns, headed: true, isNamed: true };
  if (!isReadFormat(format))
    throw new TableError(`The file is ${format}: tables are made of CSV files and spreadsheets.`);
  // If the header was confirmed by the release of another file, its columns are the requested ones, although its texts
  // do not name them.
  if (header !== null) return { names: header, headed: true, isNamed: (content?.firstRecord ?? null) === null };
  if (content?.headed === false) return { names: request.columns, headed: false, isNamed: false };
  // A file of this kind is published only after a person has released it: its header stands for the requested columns.
  if (content?.headed === null && mayName(content, request.columns))
    return { names: request.columns, headed: true, isNamed: false };
  throw new TableError('The first line of the file does not name all columns as the CRM lists them.');
}

/**
 * The columns of a file that today's settings leave out of its table or hash, by their names in the file. The date of
 * the file does not matter.
 * @param newest columns of the newest published run: they show what the settings name today
 * @throws TableError if an entry matches no known column, or if an entry of `tables` matches no column of the file:
 *   the column may be there under another name
 */
export function hiddenColumns(
  manifest: Pick<Manifest, 'file'> & { run: RunColumns },
  plan: Pick<EntityPlan, 'columns' | 'tables'>,
  newest?: RunColumns,
): Required<HiddenColumns> {
  const { names, isNamed } = fileColumns(manifest);
  if (!isNamed && (plan.columns.except.length > 0 || hidesAny(plan.tables ?? {})))
    throw new TableError(
      'The file does not name its columns itself, so none of them can be left out or hashed: it becomes a table only without `except` and `hash`.',
    );
  const runs = newest ? [manifest.run, newest] : [manifest.run];
  const meaningOf = (entry: string) => fieldsNamedInRuns(entry, names, runs).map(({ name }) => name);
  const unrequested = new Set(
    plan.columns.except.flatMap((entry) => {
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
  return { except: [...names.filter((name) => unrequested.has(name)), ...ofTable('except')], hash: ofTable('hash') };
}

export interface TableColumn {
  name: string;
  /** The position in a record of the field that the column is made of, from 0. */
  place: number;
  type: ColumnType;
  /** The values of the column are replaced by keyed hashes. */
  hashed: boolean;
}

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
  { columns: typed, except, hash }: HiddenColumns & Pick<TableSettings, 'columns'>,
): TableColumn[] {
  const left = new Set(except?.map(tableColumnName));
  const hashed = new Set(hash?.map(tableColumnName));
  const types = new Map(Object.entries(typed).map(([field, type]) => [tableColumnName(field), type]));
  const columns = fields
    .map((field, place) => ({ place, name: tableColumnName(field) }))
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
