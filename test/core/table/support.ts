import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { parquetMetadata, parquetScan, type SchemaElement } from 'hyparquet';
import { afterAll } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { type EngineLimits, inFolder } from '../../../core/table/engine.ts';
import { type TableInput, type WrittenTable, writeParquet } from '../../../core/table/write-parquet.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { DIALECT, manifestOf } from '../../support/manifests.ts';

const SETTINGS: TableSettings = { columns: {}, misfit: 'null', version: 1 };

type File = Manifest['file'];
type Dialect = NonNullable<File['dialect']>;

/** A published file and the settings of its table. */
export interface Published {
  content: string | Uint8Array;
  file?: Partial<Omit<File, 'dialect'>> & { dialect?: Partial<Dialect> | null };
  settings?: Partial<TableSettings>;
  hashKey?: string | null;
  identity?: string;
  /** The chunk size in bytes. */
  chunk?: number;
}

/** The input of a table. The header is read from the text. */
export function inputOf({
  content,
  file,
  settings,
  hashKey = null,
  identity = 'abcdefabcdefabcd',
  chunk = 64 * 1024,
}: Published): TableInput {
  const bytes = Buffer.from(content);
  const header = typeof content === 'string' ? (parse(content, { to: 1 })[0] ?? []) : null;
  const stored = { key: 'runs/leads.csv', bytes: bytes.length, crc32: crc32Text(crc32(bytes)), content: null };
  const dialect = { ...DIALECT, ...file?.dialect };
  const manifest = manifestOf({
    ...{ execution: 'leads-1', date: '2026-11-22' },
    file: { ...stored, rows: null, header, ...file, dialect },
  });
  return {
    manifest,
    settings: { ...SETTINGS, ...settings },
    hashKey,
    identity,
    reading: { contentBytes: 1e9, diskBytes: 1e9, secondsLeft: () => 900 },
    source: { size: bytes.length, read: (from, to) => chunksOf(bytes.subarray(from, to), chunk) },
  };
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Writes the table of a published file. */
export function putTable(
  path: string,
  published: Published,
  limits: Partial<EngineLimits> = {},
): Promise<WrittenTable> {
  return inFolder('table-', (folder) => writeParquet(inputOf(published), path, { ...limitsIn(folder), ...limits }));
}

/** Limits that small tables do not reach. */
export const limitsIn = (folder: string): EngineLimits => ({
  ...{ bufferMB: 900, folder, diskBytes: 1e9, onProgress: () => undefined },
});

/** A row by column name: a text for each value, and `null` for an empty one. */
export type Texts = Record<string, string | null>;

/**
 * The rows of a Parquet file, read by hyparquet, which is independent of DuckDB, the writer of tables and feeds. Values
 * are read as stored: the library would round decimals and 64-bit numbers.
 */
export async function rowsIn(path: string): Promise<Texts[]> {
  const { file, metadata } = parquetOf(path);
  const [root, ...columns] = metadata.schema;
  const stored = columns.map(({ name, type, repetition_type }): SchemaElement => ({ name, type, repetition_type }));
  const schema = [root as SchemaElement, ...stored];
  const scan = await parquetScan({ file, metadata: { ...metadata, schema }, utf8: false, useOffsetIndex: false });
  const rows: Texts[] = [];
  for (const { rowStart, rowEnd } of scan.ranges) {
    const some: Texts[] = Array.from({ length: rowEnd - rowStart }, () => ({}));
    for (const column of columns) {
      const values = await scan.readColumn({ column: column.name, rowStart, rowEnd });
      for (const [at, row] of some.entries()) row[column.name] = textOf(values[at], column);
    }
    rows.push(...some);
  }
  return rows;
}

export function rowsOfStored(body: Uint8Array = new Uint8Array()): Promise<Texts[]> {
  return inFolder('stored-', (folder) => {
    const path = join(folder, 'stored.parquet');
    writeFileSync(path, body);
    return rowsIn(path);
  });
}

export function parquetOf(path: string) {
  const bytes = readFileSync(path);
  const slice = (from: number, to = bytes.length) => new Uint8Array(bytes.subarray(from, to)).buffer;
  return { file: { byteLength: bytes.length, slice }, metadata: parquetMetadata(slice(0)) };
}

/** The columns of a Parquet file: their names and types. */
export function columnsIn(path: string): string[] {
  const [, ...columns] = parquetOf(path).metadata.schema;
  return columns.map(({ name, type, converted_type, precision, scale }) =>
    [name, converted_type ?? type, ...(precision ? [precision, scale] : [])].join(' '),
  );
}

/** Equal values have equal texts, however the file stores them. Texts of 0 and -0 are equal. */
function textOf(value: unknown, { converted_type: type, scale = 0 }: SchemaElement): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (type === 'DATE') return new Date(Number(value) * 86_400_000).toISOString().slice(0, 10);
  if (type === 'TIMESTAMP_MICROS') return new Date(Number(BigInt(value as bigint) / 1000n)).toISOString();
  if (type !== 'DECIMAL' || scale === 0) return String(typeof value === 'number' ? value + 0 : value);
  const [, sign, digits = ''] = /^(-?)(.*)$/.exec(String(value)) ?? [];
  const padded = digits.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

// By default, instants are shown in the time zone of the machine.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;

/** DuckDB, as readers of tables and feeds use it. */
export async function openDuckDb(dir: string) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  // DuckDB would read a file that is rewritten at once from its cache.
  await connection.run('set enable_external_file_cache = false');
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  return {
    rows,
    /** Name and type of each column of a Parquet file. */
    columns: async (file: string) =>
      (await rows(`describe select * from read_parquet('${join(dir, file)}')`)).map(
        ([name, type]) => `${name} ${type}`,
      ),
    /** Rows that only one of the queries returns, in both directions. */
    differences: async (one: string, other: string) =>
      rows(`(from (${one}) except all from (${other})) union all (from (${other}) except all from (${one}))`),
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** A folder for the tables of a test file, and DuckDB to read them. Both are removed after the file. */
export async function placeForTables() {
  const dir = mkdtempSync(join(tmpdir(), 'tables-'));
  const duckDb = await openDuckDb(dir);
  afterAll(() => {
    duckDb.close();
    rmSync(dir, { recursive: true });
  });
  const path = join(dir, 'leads.parquet');
  const rowsOf = async () => (await rowsIn(path)).map((row) => Object.values(row));
  /** Writes the table of a published file, and reads it. */
  const tableOf = async (published: Published) => {
    const written = await putTable(path, published);
    return { written, rows: await rowsOf() };
  };
  return { dir, path, duckDb, rowsOf, tableOf };
}
