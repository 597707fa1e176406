import { ParquetWriter } from 'hyparquet-writer';
import type { TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import { provenRecords, whyUnread } from '../file/records.ts';
import type { ByteSource } from '../files/byte-source.ts';
import type { ReadingLimits } from '../zip/reading-limits.ts';
import { schemaOf } from './column-types.ts';
import { type Covered, missingFields, tableColumns } from './columns.ts';
import { createdBy } from './created-by.ts';
import { type FileColumns, fileColumns } from './file-columns.ts';
import { type CountedRows, RowCount } from './row-count.ts';
import { type Misfits, RowGroup } from './row-group.ts';
import { type Sink, SinkWriter } from './sink-writer.ts';
import { TableError } from './table-error.ts';
import { IDENTITY_KEY } from './table-identity.ts';

export interface TableInput {
  manifest: Pick<Manifest, 'entity' | 'date' | 'execution' | 'file' | 'request'>;
  /** The file of the manifest, as it is stored. */
  source: ByteSource;
  limits: ReadingLimits;
  settings: TableSettings;
  /** What these and others mean of the columns of the file. */
  covered: Covered;
  /** The digest of the settings that decide what is readable. */
  digest: string;
  /** The digest of all that decides how the rows come to be. */
  identity: string;
  /** The key of the hashed columns; `null` where there is none. */
  hashKey: string | null;
  /** Release that writes the table. */
  softwareVersion: string;
}

export interface WrittenTable {
  rows: number;
  bytes: number;
  /** Rows with fewer fields than the header: what is missing is no value. The first of them; `null` = there are none. */
  shortRows: CountedRows | null;
  /** Rows with values below a cell of the header that has no name: they are not in the table. */
  nameless: CountedRows | null;
  misfits: Misfits[];
  /** Names with a type that the file has no field for. */
  missing: string[];
}

/**
 * Writes the table of a published CSV file or spreadsheet: Parquet, in row groups of bounded size. Equal inputs make equal bytes. What the
 * sink has taken is a table only when this returns.
 * @throws TableError; what reading the bytes and the sink throw
 */
export async function writeParquet(input: TableInput, sink: Sink): Promise<WrittenTable> {
  const { settings, manifest, covered } = input;
  const of = fileColumns(manifest);
  refuseDoubtful(manifest.file, covered);
  const columns = tableColumns(of.names, settings, covered);
  const named = of.names.filter((name) => name.trim() !== '');
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const group = new RowGroup(columns, settings, input.hashKey ?? '', (manifest.file.content?.broken ?? null) !== null);
  const writer = new SinkWriter(sink);
  const parquet = new ParquetWriter({ writer, schema: schemaOf(columns), ...formatOf(input) });
  const rows = new RowCount(of.names, columns.some(({ hashed }) => hashed) || columns.length < named.length);
  for await (const record of rowsOf(input, of)) {
    group.add(record, rows.add(record));
    if (group.full) await parquet.write(group.take());
  }
  rows.compare(manifest.file.rows);
  group.refuseWrongTypes();
  if (!group.empty) await parquet.write(group.take());
  await parquet.finish();
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

/** What the file says of itself, beside its rows. */
function formatOf({ manifest, digest, identity, softwareVersion }: TableInput) {
  const { entity, date, execution, file } = manifest;
  const source = { entity, date, run: execution, file: file.key, crc32: file.crc32 };
  const said = { ...source, settings: digest, software: softwareVersion };
  const told = Object.entries(said).map(([key, value]) => ({ key: `crm-export.${key}`, value }));
  return {
    codec: 'SNAPPY' as const,
    kvMetadata: [...told, { key: IDENTITY_KEY, value: identity }],
    createdBy: createdBy(softwareVersion),
  };
}

/** The records behind the header. The bytes are proven by the last one. */
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
