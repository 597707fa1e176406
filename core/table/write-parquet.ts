import { crc32, zstdCompressSync } from 'node:zlib';
import { ParquetWriter } from 'hyparquet-writer';
import { crc32Text } from '../../transfer/index.ts';
import type { TableSettings } from '../config/table-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import { csvRecords, UnreadableCsv } from '../files/csv-records.ts';
import { schemaOf } from './column-types.ts';
import { missingFields, tableColumns } from './columns.ts';
import { type CountedRows, RowCount } from './row-count.ts';
import { type Misfits, RowGroup } from './row-group.ts';
import { type Sink, SinkWriter } from './sink-writer.ts';
import { TableError } from './table-error.ts';

export interface TableInput {
  manifest: Pick<Manifest, 'entity' | 'date' | 'execution' | 'file' | 'request'>;
  /** The file of the manifest, as it is stored. */
  bytes: AsyncIterable<Uint8Array>;
  settings: TableSettings;
  /** Of the hashed columns; `null` where there is none. */
  hashKey: string | null;
  /** Release that writes the table. */
  softwareVersion: string;
}

export interface WrittenTable {
  rows: number;
  bytes: number;
  /** Rows with fewer fields than the header: what is missing is no value. The first of them; `null` = there are none. */
  shortRows: CountedRows | null;
  misfits: Misfits[];
  /** Names with a type that the file has no field for. */
  missing: string[];
}

/**
 * Writes the table of a published CSV file: Parquet, in row groups of bounded size. Equal inputs make equal bytes. What the
 * sink has taken is a table only when this returns.
 * @throws TableError; what reading the bytes and the sink throw
 */
export async function writeParquet(input: TableInput, sink: Sink): Promise<WrittenTable> {
  const { settings, manifest } = input;
  const fields = fieldsOf(manifest);
  const columns = tableColumns(fields, settings);
  if (columns.some(({ hashed }) => hashed) && !input.hashKey)
    throw new TableError('The key of the hashed columns is missing.');
  const group = new RowGroup(columns, settings, input.hashKey ?? '');
  const writer = new SinkWriter(sink);
  const parquet = new ParquetWriter({ writer, schema: schemaOf(columns), ...formatOf(input) });
  const rows = new RowCount(fields.length, Boolean(settings.except ?? settings.hash));
  for await (const record of rowsOf(input, fields.length)) {
    group.add(record, rows.add(record));
    if (group.full) await parquet.write(group.take());
  }
  rows.compare(manifest.file.rows);
  if (!group.empty) await parquet.write(group.take());
  await parquet.finish();
  const { count, shortRows } = rows;
  return {
    ...{ rows: count, bytes: writer.offset, shortRows },
    ...{ misfits: [...group.misfits.values()], missing: missingFields(fields, Object.keys(settings.columns)) },
  };
}

/** The names of the fields of a record; of a file of 0 bytes, those that were requested. @throws TableError */
export function fieldsOf({ file, request }: TableInput['manifest']): readonly string[] {
  // Manifests of earlier releases do not name the format.
  if ((file.format ?? 'csv') !== 'csv') throw new TableError(`The file is ${file.format}, not CSV.`);
  if (file.header === null) throw new TableError('The first line of the file names no columns that the CRM lists.');
  return file.bytes === 0 ? request.columns : file.header;
}

const COMPRESSORS = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) };

/** What the file says of itself, beside its rows. */
function formatOf({ manifest, settings, softwareVersion }: TableInput) {
  const { entity, date, execution, file } = manifest;
  const said = { entity, date, run: execution, file: file.key, crc32: file.crc32, software: softwareVersion };
  return {
    codec: settings.compression === 'zstd' ? ('ZSTD' as const) : ('SNAPPY' as const),
    compressors: COMPRESSORS,
    kvMetadata: Object.entries(said).map(([key, value]) => ({ key: `crm-export.${key}`, value })),
    // Readers in Java trust no statistics of texts by a writer that names itself otherwise (apache/parquet-format, parquet.thrift).
    createdBy: `crm-nightly-export version ${softwareVersion} (build ${softwareVersion})`,
  };
}

/** The records behind the header. The bytes are proven by the last one. */
async function* rowsOf({ manifest: { file }, bytes }: TableInput, width: number): AsyncGenerator<string[]> {
  const proof = { crc: 0 };
  let headed = false;
  try {
    for await (const record of csvRecords(counted(bytes, proof), file)) {
      if (headed) yield record;
      else if (record.length !== width)
        throw new TableError(`The header has ${record.length} fields, not ${width} as in the manifest.`);
      headed = true;
    }
  } catch (error) {
    throw error instanceof UnreadableCsv ? new TableError(`The file ${error.message}.`) : error;
  }
  if (crc32Text(proof.crc) !== file.crc32)
    throw new TableError('The stored file is not the one of its manifest: another CRC-32.');
}

async function* counted(bytes: AsyncIterable<Uint8Array>, proof: { crc: number }): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    proof.crc = crc32(chunk, proof.crc);
    yield chunk;
  }
}
