import { join } from 'node:path';
import type { TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../file/byte-source.ts';
import { type Proof, provenBatches, type StoredRecord, unreadableReason } from '../file/file-records.ts';
import type { ReadingLimits } from '../file/reading-limits.ts';
import { isFilled } from '../folded.ts';
import { hashedText, typedValue } from './column-types.ts';
import { copyTo, type EngineLimits, named, type Query, quoted, stage, withEngine } from './engine.ts';
import {
  type FileColumns,
  fileColumns,
  type HiddenColumns,
  hidesAny,
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
  /** `except` and `hash` list columns by their names in the file. */
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
  const columns = tableColumns(of.names, settings);
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const shortRows = { count: 0, row: 0 };
  const staged = rowsOf(input, of, columns, shortRows);
  const separator = manifest.file.dialect?.separator ?? ',';
  const rows = await stage(staged, join(limits.folder, 'rows.csv'), of.names.length, separator);
  return withEngine(limits, async (query) => {
    await query('CREATE TEMP SEQUENCE misfits');
    const selected = columns.map((column) => `${columnValue(column, input.hashKey)} AS ${named(column.name)}`);
    await query(copyTo(path, `SELECT ${selected} FROM ${rows}`, `, KV_METADATA {${metadataOf(input, columns)}}`));
    const values = await query(
      `SELECT sum(num_values), sum(num_values - stats_null_count) FROM parquet_metadata(${quoted(path)})
       GROUP BY column_id ORDER BY column_id`,
    );
    const count = Number(values[0]?.[0] ?? 0);
    const { rows: verified } = manifest.file;
    if (verified !== null && verified !== count)
      throw new TableError(`The file has ${count} rows by its quotation marks, ${verified} by its manifest.`);
    const hasMisfits = (await query(`SELECT nextval('misfits') > 1`))[0]?.[0];
    const isBroken = (manifest.file.content?.broken ?? null) !== null;
    const read = columns.map((column, at) => ({
      ...column,
      text: `c${column.place}`,
      values: Number(values[at]?.[1] ?? 0),
    }));
    const doubtful = read.filter(({ type, hashed }) => (type === 'text' ? isBroken && !hashed : hasMisfits));
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
function refuseDoubtful({ content }: Manifest['file'], hidden: HiddenColumns): void {
  const { doubts = 0, otherHeaders = 0, strayQuotes = 0 } = content ?? {};
  const why: [holds: boolean, text: string][] = [
    [doubts > 0, 'Programs read its rows differently'],
    [otherHeaders > 0, 'Records below the first name other columns, or the columns in another order'],
    [strayQuotes > 0 && hidesAny(hidden), 'Text follows the closing quotation mark of a cell'],
  ];
  const found = why.find(([holds]) => holds);
  if (found) throw new TableError(`${found[1]}, so the file gets no table.`);
}

/**
 * The rows of the file. The bytes of the file are verified only at the end of the last batch.
 * @throws TableError if the header has another width, if a row has values beyond it, or if one has fewer fields and
 *   columns are left out or hashed: the column of each value is then not known
 */
async function* rowsOf(
  { manifest: { file }, source, reading, settings }: TableInput,
  { names, headed }: FileColumns,
  columns: readonly TableColumn[],
  shortRows: CountedRows,
): AsyncGenerator<StoredRecord[]> {
  const width = names.length;
  const last = columns.at(-1)?.place ?? 0;
  const fewest = hidesAny(settings) ? names.findLastIndex((name) => name.trim() !== '') + 1 : 0;
  const refuse = () => new TableError('The CRC-32 of the stored file differs from its manifest.');
  let row = headed ? -1 : 0;
  const rowOf = (record: StoredRecord): StoredRecord[] => {
    row += 1;
    if (Buffer.isBuffer(record)) return [record];
    const { length } = record;
    if (row === 0 && length === width) return [];
    if (row === 0) throw new TableError(`The header has ${length} fields, not ${width} as in the manifest.`);
    if (length < fewest || record.slice(width).some(isFilled))
      throw new TableError(`Row ${row} has ${length} fields, the header has ${width}.`);
    if (length <= last) {
      shortRows.count += 1;
      shortRows.row ||= row;
    }
    return [record.slice(0, width)];
  };
  try {
    const proof: Proof = { limits: reading, refuse, bytesOfWidth: width };
    for await (const batch of provenBatches(source, file, proof)) yield batch.flatMap(rowOf);
  } catch (error) {
    const why = unreadableReason(error);
    throw why === undefined ? error : new TableError(`The file ${why}.`);
  }
}

/** The value of a column as SQL. A text that does not fit its type is NULL, and advances the sequence `misfits`. */
function columnValue({ place, type, hashed }: TableColumn, hashKey: string | null): string {
  const text = `c${place}`;
  if (type === 'text') return hashed && hashKey ? hashedText(text, hashKey) : text;
  return `coalesce(${typedValue(text, type)}, CASE WHEN ${text} <> '' AND nextval('misfits') < 0 THEN NULL END)`;
}

/**
 * Counts the texts of some columns that do not fit the type or are damaged.
 * @throws TableError for a column without a value of its type
 */
async function findMisfits(
  query: Query,
  rows: string,
  columns: readonly (TableColumn & { text: string; values: number })[],
): Promise<Misfits[]> {
  const facts = columns.map(({ text, type }) =>
    // Damaged characters have become U+FFFD.
    type === 'text' ? `contains(${text}, chr(65533))` : `${text} <> '' AND ${typedValue(text, type)} IS NULL`,
  );
  const counts = facts.map((fact) => `count(*) FILTER (${fact}), min(row) FILTER (${fact})`);
  const [found = []] = await query(`SELECT ${counts} FROM (SELECT *, row_number() OVER () AS row FROM ${rows})`);
  return columns.flatMap(({ name, type, values }, at): Misfits[] => {
    const misfits = { column: name, type: typeof type === 'string' ? type : type.type };
    const [count, row] = [Number(found[2 * at]), Number(found[2 * at + 1])];
    if (type !== 'text' && values === 0 && count > 0)
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
