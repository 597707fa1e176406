import { type Changes, changesBetween } from '../../core/columns/changes.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { suggestion } from '../../core/suggestion.ts';
import { tableColumnName } from '../../core/table/columns.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { columnsOf } from './columns.ts';
import { MOST_CELLS } from './diff/fingerprints.ts';
import { type KeyedRow, type RowChanges, rowChanges } from './diff/row-changes.ts';
import { failed } from './find.ts';
import { type Manifests, unlessEarlier } from './manifests.ts';
import type { ExportsBucket } from './object.ts';
import { namesOf, recordsOf, refuseUnread } from './read-file.ts';

const DEFAULT_KEY = 'id';

/** How the file of one manifest differs from that of another. */
export interface Difference {
  before: Manifest;
  after: Manifest;
  columns: Changes;
  /** By a key; `null` where none was named, and not both files have a column `id`: then neither was read. */
  rows: (RowChanges & ComparedBy) | null;
}

interface ComparedBy {
  key: string;
  /** What both files have; `null` where the cells are too many to be told apart: then rows are compared whole. */
  compared: string[] | null;
}

/**
 * Reads both files, which are looked at before either is read.
 * @param key the column that identifies a row, as the newer file or its table names it; without one `id`, where both files have it
 * @throws CommandError: 1 where a file cannot be read, is not what its manifest says, or is too large; 2 where it lacks the key
 */
export async function difference(
  target: ExportsBucket,
  before: Manifest,
  after: Manifest,
  key?: string,
): Promise<Difference> {
  const old = namesIn(before);
  const current = namesIn(after);
  const columns = changesBetween(columnsOf(before).columns, columnsOf(after).columns);
  const identifies = asInFile(key ?? DEFAULT_KEY, current);
  if (key === undefined && !(old.includes(identifies) && current.includes(identifies)))
    return { before, after, columns, rows: null };
  const keyIndexes = [keyIndex(before, old, identifies), keyIndex(after, current, identifies)];
  const common = [...new Set(old)].filter((name) => name !== '' && name !== identifies && current.includes(name));
  const compared = mostRows(before) * common.length <= MOST_CELLS ? common : null;
  const rowsIn = (manifest: Manifest, names: string[], key = 0) =>
    rowsOf(target, manifest, { key, cells: common.map((name) => names.indexOf(name)), whole: compared === null });
  const rows = await rowChanges(rowsIn(before, old, keyIndexes[0]), rowsIn(after, current, keyIndexes[1]));
  return { before, after, columns, rows: { ...rows, key: identifies, compared } };
}

/**
 * What readers have instead of a file, or had before it: what is published for its date, else for the date before.
 * @throws CommandError (exit code 1) where that is nothing
 */
export async function publishedBefore(manifests: Manifests, { entity, date, execution }: Manifest): Promise<Manifest> {
  const dates = await manifests.dates(entity);
  for (const one of dates.filter((each) => each <= date).reverse()) {
    const pointer = await unlessEarlier(manifests.pointer(entity, one), printErr);
    const manifest =
      pointer?.execution === execution ? undefined : pointer && (await manifests.manifest(pointer.manifestKey));
    if (manifest) return manifest;
  }
  throw failed(`Nothing of ${entity} is published before ${date}: there is nothing to compare it with.`);
}

/** @throws CommandError (exit code 1) where the columns are not known */
function namesIn(manifest: Manifest): string[] {
  refuseUnread(manifest);
  const { entity, date } = manifest;
  const names = namesOf(manifest);
  if (names !== null) return names;
  throw failed(`The header of the ${entity} of ${date} is not known: no column of it can be compared.`);
}

/** The column as the file writes it, where it is named as its table has it: `idnumber` for `idNumber`. */
function asInFile(column: string, names: string[]): string {
  if (names.includes(column)) return column;
  const [name = column, ...others] = names.filter((each) => tableColumnName(each) === column);
  return others.length === 0 ? name : column;
}

/** The index of the key in a record. @throws CommandError (exit code 2) where there is no such column */
function keyIndex({ entity, date }: Manifest, names: string[], key: string): number {
  const index = names.indexOf(key);
  if (index !== -1) return index;
  throw new CommandError(
    `The ${entity} of ${date} have no column "${key}"${suggestion(key, names)}: name another with --key; peek --columns lists them.`,
    USAGE,
  );
}

function mostRows({ file }: Manifest): number {
  return file.rows ?? file.content?.rows?.most ?? 0;
}

interface Reading {
  /** Indexes in a record: of the key, and of the cells that are compared. */
  key: number;
  cells: number[];
  /** All cells as one. */
  whole: boolean;
}

async function* rowsOf(
  target: ExportsBucket,
  manifest: Manifest,
  { key, cells, whole }: Reading,
): AsyncGenerator<KeyedRow> {
  let header = true;
  for await (const record of recordsOf(target, manifest)) {
    const texts = cells.map((each) => record[each] ?? '');
    if (!header) yield { key: record[key] ?? '', cells: whole ? [texts.join('\0')] : texts };
    header = false;
  }
}
