import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { afterAll } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { type Covered, NOTHING } from '../../../core/table/table-columns.ts';
import { type TableInput, type WrittenTable, writeParquet } from '../../../core/table/write-parquet.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';

const SETTINGS: TableSettings = { columns: {}, misfit: 'null', version: 1 };

type File = Manifest['file'];
type Dialect = NonNullable<File['dialect']>;

/** A published file and the settings of its table. */
export interface Published {
  content: string | Uint8Array;
  file?: Partial<Omit<File, 'dialect'>> & { dialect?: Partial<Dialect> };
  settings?: Partial<TableSettings>;
  covered?: Covered;
  hashKey?: string | null;
  identity?: string;
  /** The chunk size in bytes. */
  chunk?: number;
}

const DIALECT: Dialect = {
  encoding: 'utf-8',
  byteOrderMark: false,
  separator: ',',
  separatorLine: false,
  lineBreak: 'lf',
};

/** The input of a table. The header is read from the text. */
export function inputOf({
  content,
  file,
  settings,
  covered = NOTHING,
  hashKey = null,
  identity = 'abcdefabcdefabcd',
  chunk = 64 * 1024,
}: Published): TableInput {
  const bytes = Buffer.from(content);
  const header = typeof content === 'string' ? (parse(content, { to: 1 })[0] ?? []) : null;
  const manifest = {
    execution: 'leads-1',
    run: { entity: 'leads' as const, date: '2026-11-22', request: { columns: ['id', 'name'] } },
    file: {
      key: 'runs/leads.csv',
      bytes: bytes.length,
      crc32: crc32Text(crc32(bytes)),
      contentType: 'text/csv',
      storedAt: '2026-11-22T01:00:00.000Z',
      restarts: 0,
      undeclaredEnd: false,
      format: 'csv',
      compression: null,
      rows: null,
      header,
      content: null,
      ...file,
      dialect: { ...DIALECT, ...file?.dialect },
    },
  };
  return {
    manifest,
    settings: { ...SETTINGS, ...settings },
    hashKey,
    softwareVersion: '0.2.0',
    covered,
    digest: 'fedcba98fedcba98',
    identity,
    limits: { contentBytes: 1e9, diskBytes: 1e9, secondsLeft: () => 900 },
    source: { size: bytes.length, read: (from, to) => chunksOf(bytes.subarray(from, to), chunk) },
  };
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Writes the table of a published file and returns its bytes. @param onPart called for each part */
export async function putTable(
  path: string,
  published: Published,
  onPart: (bytes: Uint8Array) => unknown = () => undefined,
): Promise<WrittenTable> {
  const parts: Uint8Array[] = [];
  const written = await writeParquet(inputOf(published), async (bytes) => {
    parts.push(bytes);
    onPart(bytes);
  });
  writeFileSync(path, Buffer.concat(parts));
  return written;
}

// By default, instants are shown in the time zone of the machine.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;

/** DuckDB, which reads both the published file and its table. */
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
  return { dir, path: join(dir, 'leads.parquet'), duckDb };
}
