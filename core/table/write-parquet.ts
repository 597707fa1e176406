import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import type { TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../file/byte-source.ts';
import { provenRecords, whyUnread } from '../file/file-records.ts';
import type { ReadingLimits } from '../file/reading-limits.ts';
import { type Reader, readerOf, schemaOf, type Value } from './column-types.ts';
import { type FileColumns, fileColumns } from './file-columns.ts';
import { type Covered, missingFields, type TableColumn, tableColumns } from './table-columns.ts';
import { TableError } from './table-error.ts';
import { IDENTITY_KEY } from './table-identity.ts';

/** Takes the next bytes of a file. The caller does not change them afterwards. */
type Sink = (bytes: Uint8Array) => Promise<void>;

export interface TableInput {
  manifest: Pick<Manifest, 'execution' | 'file'> & { run: Pick<Manifest['run'], 'entity' | 'date' | 'request'> };
  /** The stored file that the manifest describes. */
  source: ByteSource;
  limits: ReadingLimits;
  settings: TableSettings;
  /** The columns to leave out or hash. */
  covered: Covered;
  /** The digest of the column settings. */
  digest: string;
  /** The digest of everything that decides how the rows are made. */
  identity: string;
  /** The key of the hashed columns; `null` = no key. */
  hashKey: string | null;
  /** The release that writes the table. */
  softwareVersion: string;
}

export interface WrittenTable {
  rows: number;
  bytes: number;
  /** Rows with fewer fields than the header. The missing fields have no value. `null` = no such row. */
  shortRows: CountedRows | null;
  /** Rows with values below a header cell without a name. The table does not contain these values. */
  nameless: CountedRows | null;
  misfits: Misfits[];
  /** Names with a configured type that match no field of the file. */
  missing: string[];
}

/**
 * Writes the table of a published CSV file or spreadsheet as Parquet, in row groups of bounded size. Equal inputs give
 * equal bytes. The bytes in the sink are a complete table only after this function has returned.
 * @throws TableError; any error from reading the source or from the sink
 */
export async function writeParquet(input: TableInput, sink: Sink): Promise<WrittenTable> {
  const { settings, manifest, covered } = input;
  const of = fileColumns(manifest);
  refuseDoubtful(manifest.file, covered);
  const columns = tableColumns(of.names, settings, covered);
  const named = of.names.filter((name) => name.trim() !== '');
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const group = new RowGroup(
    columns,
    settings.misfit,
    input.hashKey ?? '',
    (manifest.file.content?.broken ?? null) !== null,
  );
  const writer = new SinkWriter(sink);
  const parquet = new ParquetWriter({ writer, schema: schemaOf(columns), ...formatOf(input) });
  const rows = new RowCount(of.names, columns.some(({ hashed }) => hashed) || columns.length < named.length);
  await writeRows(
    rowsOf(input, of),
    { group, parquet },
    (record) => rows.add(record),
    () => {
      rows.compare(manifest.file.rows);
      group.refuseWrongTypes();
    },
  );
  const { count, shortRows, nameless } = rows;
  return {
    rows: count,
    bytes: writer.offset,
    shortRows,
    nameless,
    misfits: [...group.misfits.values()],
    missing: missingFields(of.names, Object.keys(settings.columns)),
  };
}

/**
 * Writes fields of records as texts, into columns c0, c1 and so on, without checks. A missing field becomes null.
 * @param places of the fields in a record
 */
export async function writeTexts(
  records: AsyncIterable<string[]>,
  places: readonly number[],
  sink: Sink,
): Promise<void> {
  const columns = places.map((place, at): TableColumn => ({ name: `c${at}`, place, type: 'text', hashed: false }));
  const parquet = new ParquetWriter({ writer: new SinkWriter(sink), schema: schemaOf(columns) });
  await writeRows(records, { group: new RowGroup(columns, 'null', ''), parquet });
}

async function writeRows(
  records: AsyncIterable<string[]>,
  { group, parquet }: { group: RowGroup; parquet: ParquetWriter },
  numberOf: (record: string[]) => number = () => 0,
  judge: () => void = () => undefined,
): Promise<void> {
  for await (const record of records) {
    group.add(record, numberOf(record));
    if (group.full) await parquet.write(group.take());
  }
  judge();
  if (!group.empty) await parquet.write(group.take());
  await parquet.finish();
}

/** @throws TableError for a file whose values may belong to other rows or columns */
function refuseDoubtful({ content }: Manifest['file'], { left, hashed }: Covered): void {
  const { doubts = 0, otherHeaders = 0, strayQuotes = 0 } = content ?? {};
  const why: [holds: boolean, text: string][] = [
    [doubts > 0, 'Its rows are not counted, because programs read it differently'],
    [otherHeaders > 0, 'Records further down name other columns, or another order of them'],
    [strayQuotes > 0 && left.size + hashed.size > 0, 'Text follows the closing quotation mark of a cell'],
  ];
  const found = why.find(([holds]) => holds);
  if (found) throw new TableError(`${found[1]}: the file becomes no table.`);
}

/** The metadata of the Parquet file. */
function formatOf({ manifest, digest, identity, softwareVersion }: TableInput) {
  const { execution, file } = manifest;
  const { entity, date } = manifest.run;
  const source = { entity, date, run: execution, file: file.key, crc32: file.crc32 };
  const said = { ...source, settings: digest, software: softwareVersion };
  const told = Object.entries(said).map(([key, value]) => ({ key: `crm-export.${key}`, value }));
  return {
    codec: 'SNAPPY' as const,
    kvMetadata: [...told, { key: IDENTITY_KEY, value: identity }],
    // Java readers ignore statistics of texts if the name has another form (apache/parquet-format, parquet.thrift).
    createdBy: `crm-nightly-export version ${softwareVersion} (build ${softwareVersion})`,
  };
}

/** The records after the header. Only the end of the last one proves the bytes of the file. */
async function* rowsOf({ manifest: { file }, source, limits }: TableInput, of: FileColumns): AsyncGenerator<string[]> {
  const width = of.names.length;
  const refuse = () => new TableError('The stored file is not the one of its manifest: another CRC-32.');
  let isHeader = of.headed;
  try {
    for await (const record of provenRecords(source, file, { limits, refuse })) {
      if (isHeader && record.length !== width)
        throw new TableError(`The header has ${record.length} fields, not ${width} as in the manifest.`);
      if (!isHeader) yield record;
      isHeader = false;
    }
  } catch (error) {
    const why = whyUnread(error);
    throw why === undefined ? error : new TableError(`The file ${why}.`);
  }
}

/** How many rows have a property, and the number of the first. The first row after the header is 1. */
interface CountedRows {
  count: number;
  row: number;
}

/** Counts all rows, rows with fewer fields than the header, and rows with values in columns without a name. */
class RowCount {
  count = 0;
  shortRows: CountedRows | null = null;
  nameless: CountedRows | null = null;
  readonly #width: number;
  /** Number of header fields up to the last one with a name. */
  readonly #named: number;
  readonly #unnamed: number[];
  readonly #covers: boolean;

  /**
   * @param names of the columns; '' for a column without a name
   * @param covers whether columns are left out or hashed: their values must not get into another column
   */
  constructor(names: readonly string[], covers: boolean) {
    this.#width = names.length;
    this.#named = names.findLastIndex((name) => name.trim() !== '') + 1;
    this.#unnamed = names.flatMap((name, place) => (name.trim() === '' ? [place] : []));
    this.#covers = covers;
  }

  /**
   * @returns the number of the row
   * @throws TableError if the row has values beyond the header, or has fewer fields and columns are left out or
   *   hashed: the column of each value is then not known
   */
  add(record: readonly string[]): number {
    const { length } = record;
    this.count += 1;
    const longer = length > this.#width && record.slice(this.#width).some((field) => field !== '');
    if (longer || (length < this.#named && this.#covers)) {
      throw new TableError(`Row ${this.count} has ${length} fields, the header has ${this.#width}.`);
    }
    if (length < this.#named) this.shortRows = this.#with(this.shortRows);
    if (this.#unnamed.some((place) => record[place])) this.nameless = this.#with(this.nameless);
    return this.count;
  }

  /** Counts the current row. */
  #with(rows: CountedRows | null): CountedRows {
    return rows ? { ...rows, count: rows.count + 1 } : { count: 1, row: this.count };
  }

  /** @throws TableError if the verification of the file counted another number of rows */
  compare(verified: number | null): void {
    if (verified === null || verified === this.count) return;
    throw new TableError(`The file has ${this.count} rows by its quotation marks, ${verified} by its manifest.`);
  }
}

/** The size of a row group, which is held in memory: the characters of its fields, plus an overhead for each value. */
const GROUP_SIZE = 4 * 1024 * 1024;
const VALUE_OVERHEAD = 8;
/** The metadata of all row groups stay in memory until the end. With many columns, row groups are larger and fewer. */
const GROUP_SIZE_PER_COLUMN = 32 * 1024;
/** Minimum and maximum of each row group stay in memory until the end. A column with longer values gets none. */
const LONGEST_COMPARED = 1024;

/** Some readers misread the default, run lengths (https://github.com/dask/fastparquet/issues/884). */
const BOOLEAN_ENCODING = 'PLAIN' as const;

/** Values of a column that did not fit its type. The table has no value in their place. */
export interface Misfits extends CountedRows {
  column: string;
  type: string;
}

interface Gathered extends TableColumn {
  read: Reader;
  hasValue: boolean;
  data: Value[];
  /** Characters of the longest value. */
  longest: number;
}

/** Collects the values of rows for the next row group. */
export class RowGroup {
  readonly misfits = new Map<string, Misfits>();
  readonly #columns: Gathered[];
  readonly #onMisfit: TableSettings['misfit'];
  readonly #broken: boolean;
  #size = 0;

  /** @param broken whether the file has damaged characters, which are U+FFFD in its texts */
  constructor(columns: readonly TableColumn[], misfit: TableSettings['misfit'], hashKey: string, broken = false) {
    const empty = () => ({ hasValue: false, data: [], longest: 0 });
    this.#columns = columns.map((column) => ({ ...column, read: readerOf(column, hashKey), ...empty() }));
    this.#onMisfit = misfit;
    this.#broken = broken;
  }

  get empty(): boolean {
    return this.#size === 0;
  }

  get full(): boolean {
    return this.#size >= Math.max(GROUP_SIZE, GROUP_SIZE_PER_COLUMN * this.#columns.length);
  }

  /** @throws TableError if a value does not fit and the settings say `stop` */
  add(record: readonly string[], row: number): void {
    for (const column of this.#columns) {
      const field = record[column.place];
      const value = field === undefined ? null : column.read(field);
      if (value !== undefined && value !== null) column.hasValue = true;
      if (value === undefined || (this.#broken && field?.includes('\uFFFD'))) this.#misfit(column, row);
      // A hash may be much longer than its input.
      const { length } = typeof value === 'string' ? value : (field ?? '');
      column.longest = Math.max(column.longest, length);
      column.data.push(value ?? null);
      this.#size += VALUE_OVERHEAD + length;
    }
  }

  /** @throws TableError if the type of a column fits none of its values */
  refuseWrongTypes(): void {
    for (const { name, hasValue } of this.#columns) {
      const { type, count, row } = this.misfits.get(name) ?? {};
      if (hasValue || type === undefined) continue;
      throw new TableError(
        `The type of the column "${name}", ${type}, fits none of its values (${count}, the first in row ${row}).`,
      );
    }
  }

  /** Returns the collected values and clears them. */
  take(): { columnData: ColumnSource[]; rowGroupSize: number } {
    this.#size = 0;
    const columnData = this.#columns.map((column) => {
      const { name, type, data, longest } = column;
      Object.assign(column, { data: [], longest: 0 });
      const statistics = longest <= LONGEST_COMPARED;
      return { name, data, statistics, ...(type === 'boolean' && { encoding: BOOLEAN_ENCODING }) };
    });
    return { columnData, rowGroupSize: Number.POSITIVE_INFINITY };
  }

  #misfit({ name, type }: TableColumn, row: number): void {
    const word = typeof type === 'string' ? type : type.type;
    if (this.#onMisfit === 'stop') {
      throw new TableError(`The value in row ${row} of the column "${name}" does not fit its type, ${word}.`);
    }
    const misfits = this.misfits.get(name) ?? { column: name, type: word, count: 0, row };
    misfits.count += 1;
    this.misfits.set(name, misfits);
  }
}

/** Passes each row group to the sink, so that only the current one is in memory. */
class SinkWriter extends ByteWriter {
  readonly #sink: Sink;

  constructor(sink: Sink) {
    super();
    this.#sink = sink;
  }

  async flush(): Promise<void> {
    const bytes = this.getBytes().slice();
    this.index = 0;
    if (bytes.length > 0) await this.#sink(bytes);
  }

  override finish(): Promise<void> {
    return this.flush();
  }
}
