import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../file/byte-source.ts';
import { provenRecords, whyUnread } from '../file/file-records.ts';
import type { ReadingLimits } from '../file/reading-limits.ts';
import { typedValue } from './column-types.ts';
import { copyTo, type EngineLimits, named, type Query, quoted, stage, withEngine } from './engine.ts';
import { type FileColumns, fileColumns } from './file-columns.ts';
import { type Covered, missingFields, type TableColumn, tableColumnName, tableColumns } from './table-columns.ts';
import { TableError } from './table-error.ts';
import { HASHED_KEY, IDENTITY_KEY } from './table-identity.ts';

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
  const columns = tableColumns(of.names, settings, covered);
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const rows = await stage(rowsOf(input, of, columns), join(limits.folder, 'rows.csv'), columns.length);
  const selected = columns.map((column, at) => ({ ...column, ...inSql(`c${at}`, column, manifest.file) }));
  return withEngine(limits, async (query) => {
    const counted = await countRows(query, rows, selected);
    refuseOtherCount(counted.rows, manifest.file.rows);
    refuseMisfits(counted.misfits, settings.misfit);
    const values = selected.map(({ name, value }) => `${value} AS ${named(name)}`);
    await query(copyTo(path, `SELECT ${values} FROM ${rows}`, `, KV_METADATA {${metadataOf(input)}}`));
    return { ...counted, missing: missingFields(of.names, Object.keys(settings.columns)) };
  });
}

/** @throws TableError for a file whose values may belong to other rows or columns */
function refuseDoubtful({ content }: Manifest['file'], { left, hashed }: Covered): void {
  const { doubts = 0, otherHeaders = 0, strayQuotes = 0 } = content ?? {};
  const why: [holds: boolean, text: string][] = [
    [doubts > 0, 'Programs read its rows differently'],
    [otherHeaders > 0, 'Records further down name other columns, or another order of them'],
    [strayQuotes > 0 && left.size + hashed.size > 0, 'Text follows the closing quotation mark of a cell'],
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
  { manifest: { file }, source, reading, hashKey }: TableInput,
  { names, headed }: FileColumns,
  columns: readonly TableColumn[],
): AsyncGenerator<(string | undefined)[]> {
  const width = names.length;
  const isNamed = (name: string) => name.trim() !== '';
  const lastNamed = names.findLastIndex(isNamed) + 1;
  const covers = columns.some(({ hashed }) => hashed) || columns.length < names.filter(isNamed).length;
  const refuse = () => new TableError('The CRC-32 of the stored file differs from its manifest.');
  let row = headed ? -1 : 0;
  try {
    for await (const record of provenRecords(source, file, { limits: reading, refuse })) {
      const { length } = record;
      row += 1;
      if (row === 0 && length !== width)
        throw new TableError(`The header has ${length} fields, not ${width} as in the manifest.`);
      if (row === 0) continue;
      const isLonger = record.slice(width).some((field) => field !== '');
      if (isLonger || (length < lastNamed && covers))
        throw new TableError(`Row ${row} has ${length} fields, the header has ${width}.`);
      yield columns.map(({ place, hashed }) => {
        const text = record[place];
        return hashed && text
          ? createHmac('sha256', hashKey ?? '')
              .update(text, 'utf8')
              .digest('hex')
          : text;
      });
    }
  } catch (error) {
    const why = whyUnread(error);
    throw why === undefined ? error : new TableError(`The file ${why}.`);
  }
}

/** A column as SQL: its value, and the condition that a text does not fit its type or is damaged. */
interface InSql extends TableColumn {
  value: string;
  misfit: string;
}

function inSql(text: string, { type }: TableColumn, { content }: Manifest['file']): Pick<InSql, 'value' | 'misfit'> {
  const value = type === 'text' ? text : typedValue(text, type);
  const unfit = type === 'text' ? 'false' : `${text} <> '' AND ${value} IS NULL`;
  // Damaged characters are U+FFFD.
  const isBroken = (content?.broken ?? null) !== null;
  return { value, misfit: isBroken ? `${unfit} OR contains(${text}, chr(65533))` : unfit };
}

/** @throws TableError for a column without a value of its type */
async function countRows(query: Query, rows: string, columns: readonly InSql[]) {
  // The last column of the table is missing in a short row.
  const facts = [`c${columns.length - 1} IS NULL`, ...columns.map(({ misfit }) => misfit)];
  const counts = facts.map((fact) => `count(*) FILTER (${fact}), min(row) FILTER (${fact})`);
  const values = columns.map(({ value, type }) => (type === 'text' ? 1 : `count(${value})`));
  const [[total, ...found] = []] = await query(
    `SELECT count(*), ${[...counts, ...values]} FROM (SELECT *, row_number() OVER () AS row FROM ${rows})`,
  );
  const [shortRows = null, ...misfit] = facts.map((_, at): CountedRows | null => {
    const count = Number(found[2 * at]);
    return count > 0 ? { count, row: Number(found[2 * at + 1]) } : null;
  });
  const misfits = columns.flatMap(({ name, type }, at): Misfits[] =>
    misfit[at] ? [{ column: name, type: typeof type === 'string' ? type : type.type, ...misfit[at] }] : [],
  );
  const without = new Set(columns.filter((_, at) => found[2 * facts.length + at] === '0').map(({ name }) => name));
  const wrong = misfits.find(({ column }) => without.has(column));
  if (wrong)
    throw new TableError(
      `The type of the column "${wrong.column}", ${wrong.type}, fits none of its values (${wrong.count}, the first in row ${wrong.row}).`,
    );
  return { rows: Number(total), shortRows, misfits };
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
function metadataOf({ manifest, covered, identity }: TableInput): string[] {
  const { run, execution, file } = manifest;
  const about = { entity: run.entity, date: run.date, run: execution, file: file.key, crc32: file.crc32 };
  const hashed = [...covered.hashed].map(tableColumnName).join(' ');
  return [
    ...Object.entries(about).map(([key, value]) => [`crm-export.${key}`, value] as const),
    [IDENTITY_KEY, identity] as const,
    ...(hashed === '' ? [] : [[HASHED_KEY, hashed] as const]),
  ].map(([key, value]) => `${named(key)}: ${quoted(value)}`);
}
