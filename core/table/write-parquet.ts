import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { ColumnType, TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../file/byte-source.ts';
import { provenRecords, whyUnread } from '../file/file-records.ts';
import type { ReadingLimits } from '../file/reading-limits.ts';
import { typedValue } from './column-types.ts';
import { copyTo, type EngineLimits, named, type Query, quoted, stage, withEngine } from './engine.ts';
import { type FileColumns, fileColumns } from './file-columns.ts';
import { type Covered, missingFields, type TableColumn, tableColumnName, tableColumns } from './table-columns.ts';
import { TableError } from './table-error.ts';
import { fingerprintOf, HASHED_BY_KEY, HASHED_KEY, IDENTITY_KEY } from './table-identity.ts';

export interface TableInput {
  manifest: Pick<Manifest, 'execution' | 'file'> & { run: Pick<Manifest['run'], 'entity' | 'date' | 'request'> };
  /** The stored file that the manifest describes. */
  source: ByteSource;
  reading: ReadingLimits;
  settings: TableSettings;
  /** The columns to leave out or hash. */
  covered: Covered;
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
  /** Rows that are too short for the column. */
  missing: CountedRows;
}

/** Values of a column that did not fit its type. The table has no value in their place. */
interface Misfits extends CountedRows {
  column: string;
  type: string;
}

export interface WrittenTable {
  rows: number;
  /** Rows with fewer fields than the header. The missing fields have no value. `null` = no such row. */
  shortRows: CountedRows | null;
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
  const { settings, manifest, covered } = input;
  const of = fileColumns(manifest);
  refuseDoubtful(manifest.file, covered);
  const columns = tableColumns(of.names, settings, covered).map(
    (column): ReadColumn => ({ ...column, filled: 0, missing: { count: 0, row: 0 } }),
  );
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const rows = await stage(rowsOf(input, of, columns), join(limits.folder, 'rows.csv'), columns.length);
  return withEngine(limits, async (query) => {
    const selected = columns.map(({ name, type }, at) => `${typed(at, type)} AS ${named(name)}`);
    await query(copyTo(path, `SELECT ${selected} FROM ${rows}`, `, KV_METADATA {${metadataOf(input)}}`));
    const values = await query(
      `SELECT sum(num_values), sum(num_values - stats_null_count) FROM parquet_metadata(${quoted(path)})
       GROUP BY column_id ORDER BY column_id`,
    );
    const count = Number(values[0]?.[0] ?? 0);
    refuseOtherCount(count, manifest.file.rows);
    const isBroken = (manifest.file.content?.broken ?? null) !== null;
    const read = columns.map((column, at) => ({ ...column, at, values: Number(values[at]?.[1] ?? 0) }));
    const doubtful = read.filter((column) => (column.type === 'text' ? isBroken : column.filled > column.values));
    const misfits = doubtful.length > 0 ? await findMisfits(query, rows, doubtful) : [];
    refuseMisfits(misfits, settings.misfit);
    const missing = missingFields(of.names, Object.keys(settings.columns));
    const short = columns.at(-1)?.missing;
    return { rows: count, shortRows: short?.count ? short : null, misfits, missing };
  });
}

const coversAny = ({ left, hashed }: Covered) => left.size + hashed.size > 0;

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
  { manifest: { file }, source, reading, hashKey, covered }: TableInput,
  { names, headed }: FileColumns,
  columns: readonly ReadColumn[],
): AsyncGenerator<(string | undefined)[]> {
  const width = names.length;
  const fewest = coversAny(covered) ? names.findLastIndex((name) => name.trim() !== '') + 1 : 0;
  const refuse = () => new TableError('The CRC-32 of the stored file differs from its manifest.');
  let row = headed ? -1 : 0;
  try {
    for await (const record of provenRecords(source, file, { limits: reading, refuse })) {
      const { length } = record;
      row += 1;
      if (row === 0 && length !== width)
        throw new TableError(`The header has ${length} fields, not ${width} as in the manifest.`);
      if (row === 0) continue;
      if (length < fewest || record.slice(width).some((field) => field !== ''))
        throw new TableError(`Row ${row} has ${length} fields, the header has ${width}.`);
      yield cellsOf(record, row, columns, hashKey);
    }
  } catch (error) {
    const why = whyUnread(error);
    throw why === undefined ? error : new TableError(`The file ${why}.`);
  }
}

/** The cells of a row. Counts them. */
function cellsOf(record: readonly string[], row: number, columns: readonly ReadColumn[], hashKey: string | null) {
  return columns.map((column) => {
    const text = record[column.place];
    if (text === undefined) {
      column.missing.count += 1;
      column.missing.row ||= row;
    }
    if (!text) return text;
    column.filled += 1;
    return column.hashed && hashKey ? createHmac('sha256', hashKey).update(text).digest('hex') : text;
  });
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

/** @throws TableError if the verification of the file counted another number of rows */
function refuseOtherCount(count: number, verified: number | null): void {
  if (verified === null || verified === count) return;
  throw new TableError(`The file has ${count} rows by its quotation marks, ${verified} by its manifest.`);
}

/** @throws TableError if the settings say `stop` */
function refuseMisfits(misfits: readonly Misfits[], onMisfit: TableSettings['misfit']): void {
  const [first] = misfits.toSorted((one, other) => one.row - other.row);
  if (first && onMisfit === 'stop')
    throw new TableError(
      `The value in row ${first.row} of the column "${first.column}" does not fit its type, ${first.type}.`,
    );
}

/** The metadata of the Parquet file, as SQL. */
function metadataOf({ manifest, covered, identity, hashKey }: TableInput): string[] {
  const { run, execution, file } = manifest;
  const about = { entity: run.entity, date: run.date, run: execution, file: file.key, crc32: file.crc32 };
  const hashed = [...covered.hashed].map(tableColumnName).join(' ');
  const hashes = { [HASHED_KEY]: hashed, [HASHED_BY_KEY]: hashKey && fingerprintOf(hashKey) };
  return [
    ...Object.entries(about).map(([key, value]) => [`crm-export.${key}`, value] as const),
    [IDENTITY_KEY, identity] as const,
    ...(hashed === '' ? [] : Object.entries(hashes)),
  ].map(([key, value]) => `${named(key)}: ${quoted(value ?? '')}`);
}
