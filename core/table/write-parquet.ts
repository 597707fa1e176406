import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { ColumnType, TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../file/byte-source.ts';
import { provenRecords, unreadableReason } from '../file/file-records.ts';
import type { ReadingLimits } from '../file/reading-limits.ts';
import { typedValue } from './column-types.ts';
import { copyTo, type EngineLimits, named, type Query, quoted, stage, withEngine } from './engine.ts';
import {
  type Covered,
  coversAny,
  type FileColumns,
  fileColumns,
  type TableColumn,
  tableColumnName,
  tableColumns,
} from './table-columns.ts';
import { TableError } from './table-error.ts';
import { identityMetadata } from './table-identity.ts';

export interface TableInput {
  manifest: Pick<Manifest, 'execution' | 'file'> & { run: Pick<Manifest['run'], 'entity' | 'date' | 'request'> };
  /** The stored file that the manifest describes. */
  source: ByteSource;
  reading: ReadingLimits;
  /** `except` and `hash` have the names of columns in the file. */
  settings: TableSettings;
  /** The digest of everything that decides how the rows are made. */
  identity: string;
  /** The key of the hashed columns; `null` = no key. */
  hashKey: string | null;
}

/** How many rows have a property, and the number of the first. The first row after the header is 1. */
interface CountedRows {
  count: number;
  row: number;
}

/** A column with counts of its cells. */
interface ReadColumn extends TableColumn {
  /** Cells that are not empty. */
  filled: number;
}

/** Values of a column that did not fit its type. The table has no value in their place. */
interface Misfits extends CountedRows {
  column: string;
  type: string;
}

export interface WrittenTable {
  rows: number;
  /** Rows with fewer fields than the header. The missing fields have no value. */
  shortRows: CountedRows;
  misfits: Misfits[];
  /** Names with a configured type that match no field of the file. */
  missing: string[];
}

/**
 * Writes the table of a published CSV file or spreadsheet as a Parquet file on the disk. Equal inputs give equal bytes.
 * The file is complete only after this function has returned.
 * @throws TableError; any error from reading the source, and of `onProgress`
 */
export async function writeParquet(input: TableInput, path: string, limits: EngineLimits): Promise<WrittenTable> {
  const { settings, manifest } = input;
  const of = fileColumns(manifest);
  refuseDoubtful(manifest.file, settings);
  const columns = tableColumns(of.names, settings).map((column): ReadColumn => ({ ...column, filled: 0 }));
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const shortRows = { count: 0, row: 0 };
  const records = rowsOf(input, of, columns, shortRows);
  const rows = await stage(records, join(limits.folder, 'rows.csv'), columns.length);
  return withEngine(limits, async (query) => {
    const selected = columns.map(({ name, type }, at) => `${typed(at, type)} AS ${named(name)}`);
    await query(copyTo(path, `SELECT ${selected} FROM ${rows}`, `, KV_METADATA {${metadataOf(input, columns)}}`));
    const values = await query(
      `SELECT sum(num_values), sum(num_values - stats_null_count) FROM parquet_metadata(${quoted(path)})
       GROUP BY column_id ORDER BY column_id`,
    );
    const count = Number(values[0]?.[0] ?? 0);
    const { rows: verified } = manifest.file;
    if (verified !== null && verified !== count)
      throw new TableError(`The file has ${count} rows by its quotation marks, ${verified} by its manifest.`);
    const isBroken = (manifest.file.content?.broken ?? null) !== null;
    const read = columns.map((column, at) => ({ ...column, at, values: Number(values[at]?.[1] ?? 0) }));
    const doubtful = read.filter((column) => (column.type === 'text' ? isBroken : column.filled > column.values));
    const misfits = doubtful.length > 0 ? await findMisfits(query, rows, doubtful) : [];
    const [first] = misfits.toSorted((one, other) => one.row - other.row);
    if (first && settings.misfit === 'stop')
      throw new TableError(
        `The value in row ${first.row} of the column "${first.column}" does not fit its type, ${first.type}.`,
      );
    const present = new Set(of.names.map(tableColumnName));
    const missing = Object.keys(settings.columns).filter((name) => !present.has(tableColumnName(name)));
    return { rows: count, shortRows, misfits, missing };
  });
}

/** @throws TableError for a file whose values may belong to other rows or columns */
function refuseDoubtful({ content }: Manifest['file'], covered: Covered): void {
  const { doubts = 0, otherHeaders = 0, strayQuotes = 0 } = content ?? {};
  const why: [holds: boolean, text: string][] = [
    [doubts > 0, 'Programs read its rows differently'],
    [otherHeaders > 0, 'Records further down name other columns, or another order of them'],
    [strayQuotes > 0 && coversAny(covered), 'Text follows the closing quotation mark of a cell'],
  ];
  const found = why.find(([holds]) => holds);
  if (found) throw new TableError(`${found[1]}: the file becomes no table.`);
}

/**
 * The fields of the rows at the places of columns, hashed where the column is. Only the end of the last record proves
 * the bytes of the file.
 * @throws TableError if a row has values beyond the header, or has fewer fields and columns are left out or hashed: the
 *   column of each value is then not known
 */
async function* rowsOf(
  { manifest: { file }, source, reading, hashKey, settings }: TableInput,
  { names, headed }: FileColumns,
  columns: readonly ReadColumn[],
  shortRows: CountedRows,
): AsyncGenerator<(string | undefined)[]> {
  const width = names.length;
  const last = columns.at(-1)?.place ?? 0;
  const fewest = coversAny(settings) ? names.findLastIndex((name) => name.trim() !== '') + 1 : 0;
  const refuse = () => new TableError('The CRC-32 of the stored file differs from its manifest.');
  let row = headed ? -1 : 0;
  try {
    for await (const record of provenRecords(source, file, { limits: reading, refuse })) {
      row += 1;
      refuseWidth(record, row, width, fewest);
      if (row === 0) continue;
      if (record.length <= last) {
        shortRows.count += 1;
        shortRows.row ||= row;
      }
      yield columns.map((column) => cellOf(record[column.place], column, hashKey));
    }
  } catch (error) {
    const why = unreadableReason(error);
    throw why === undefined ? error : new TableError(`The file ${why}.`);
  }
}

/** @throws TableError if the header has another width, or a row has values beyond it or fewer fields than `fewest` */
function refuseWidth(record: readonly string[], row: number, width: number, fewest: number): void {
  const { length } = record;
  if (row === 0 && length !== width)
    throw new TableError(`The header has ${length} fields, not ${width} as in the manifest.`);
  if (row > 0 && (length < fewest || (length > width && record.slice(width).some((field) => field !== ''))))
    throw new TableError(`Row ${row} has ${length} fields, the header has ${width}.`);
}

/** The cell of a column, hashed where the column is. Counts it unless it is empty. */
function cellOf(text: string | undefined, column: ReadColumn, hashKey: string | null): string | undefined {
  if (!text) return text;
  column.filled += 1;
  return column.hashed && hashKey ? createHmac('sha256', hashKey).update(text).digest('hex') : text;
}

const typed = (at: number, type: ColumnType) => (type === 'text' ? `c${at}` : typedValue(`c${at}`, type));

/**
 * Counts the texts of some columns that do not fit the type or are damaged.
 * @throws TableError for a column without a value of its type
 */
async function findMisfits(
  query: Query,
  rows: string,
  columns: readonly (ReadColumn & { at: number; values: number })[],
): Promise<Misfits[]> {
  const facts = columns.map(({ at, type }) =>
    // Damaged characters are U+FFFD.
    type === 'text' ? `contains(c${at}, chr(65533))` : `c${at} <> '' AND ${typed(at, type)} IS NULL`,
  );
  const counts = facts.map((fact) => `count(*) FILTER (${fact}), min(row) FILTER (${fact})`);
  const [found = []] = await query(`SELECT ${counts} FROM (SELECT *, row_number() OVER () AS row FROM ${rows})`);
  return columns.flatMap(({ name, type, values }, at): Misfits[] => {
    const misfits = { column: name, type: typeof type === 'string' ? type : type.type };
    const [count, row] = [Number(found[2 * at]), Number(found[2 * at + 1])];
    if (type !== 'text' && values === 0)
      throw new TableError(
        `The type of the column "${name}", ${misfits.type}, fits none of its values (${count}, the first in row ${row}).`,
      );
    return count > 0 ? [{ ...misfits, count, row }] : [];
  });
}

/** The metadata of the Parquet file, as SQL. */
function metadataOf({ manifest, identity, hashKey }: TableInput, columns: readonly TableColumn[]): string[] {
  const { run, execution, file } = manifest;
  const about = { entity: run.entity, date: run.date, run: execution, file: file.key, crc32: file.crc32 };
  const metadata = Object.entries({ ...about, ...identityMetadata(identity, columns, hashKey) });
  return metadata.map(([key, value]) => `${named(`crm-export.${key}`)}: ${quoted(value)}`);
}
