import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { freeDisk } from '../file/reading-limits.ts';
import { TableError } from './table-error.ts';

export interface EngineLimits {
  /** Memory of DuckDB's buffers. The process takes more: DuckDB has other memory, too. */
  bufferMB: number;
  /** A folder on the disk, and the bytes that DuckDB may store there: by default, all free bytes. */
  folder: string;
  diskBytes?: number;
  /** Called before each query and while it runs. If it throws, the query is interrupted and its error is thrown. */
  onProgress: () => void;
}

/** The disk of the functions that write tables and feeds, in MB. Lambda offers no more. */
export const DISK_MB = 10_240;

/** Makes a temporary folder for `use`, and removes it afterwards. @param prefix of its name */
export async function inFolder<T>(prefix: string, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs SQL. A failed query throws an EngineError or the error of `onProgress`, never an error of DuckDB. */
export type Query = (sql: string) => Promise<(string | null)[][]>;

const PROGRESS_EVERY_MS = 250;

/**
 * Opens DuckDB for `use`: in memory, with one thread, so that equal queries of equal files write equal bytes. It
 * installs and loads no extension.
 */
export async function withEngine<T>(limits: EngineLimits, use: (query: Query) => Promise<T>): Promise<T> {
  const { bufferMB, folder, diskBytes = await freeDisk() } = limits;
  // The import is here, because loading the native part would slow down the start of a program that needs no engine.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: `${Math.floor(bufferMB)}MiB`,
    temp_directory: join(folder, 'spilled'),
    // DuckDB limits row groups by bytes only without insertion order. With one thread, rows keep their order anyway.
    preserve_insertion_order: 'false',
    // Returns freed memory to the system at once. Otherwise each query adds to the memory that the previous one freed.
    allocator_background_threads: 'true',
    allocator_flush_threshold: '16MiB',
    allocator_bulk_deallocation_flush_threshold: '16MiB',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    // DuckDB does not enforce this limit as an option of the instance.
    await connection.run(`SET max_temp_directory_size = '${Math.floor(diskBytes / 1024)}KiB'`);
    return await use((sql) => runQuery(connection, sql, limits));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** A text as an SQL literal. */
export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
/** A column name as an SQL identifier. */
export const named = (column: string) => `"${column.replaceAll('"', '""')}"`;
/** The rows of a Parquet file, as an SQL table function. */
export const rowsIn = (path: string) => `read_parquet(${quoted(path)}, hive_partitioning = false)`;
/** Writes the rows of a query to a Parquet file. @param options further options of COPY */
export const copyTo = (path: string, rows: string, options = '') =>
  `COPY (${rows}) TO ${quoted(path)}
   (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE_BYTES '16MB', USE_TMP_FILE false${options})`;

const CHUNK = 256 * 1024;
const LINE_BREAK = Buffer.from('\n');

/**
 * Writes rows to a file for DuckDB, because passing each value to it takes three times as long.
 * @param batches of rows: their cells, of which the last may be missing, or bytes in which DuckDB finds them
 * @param separator of the cells in these bytes
 * @returns the rows as an SQL table function, with columns c0, c1 and so on; a missing cell is NULL
 */
export async function stage(
  batches: AsyncIterable<readonly (readonly (string | undefined)[] | Buffer)[]>,
  path: string,
  width: number,
  separator = ',',
): Promise<string> {
  let longest = 0;
  const lines = async function* () {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const batch of batches) {
      for (const row of batch) {
        const line = Buffer.isBuffer(row) ? row : Buffer.from(row.map(cellOf).join(separator));
        longest = Math.max(longest, line.length);
        parts.push(line, LINE_BREAK);
        bytes += line.length;
      }
      if (bytes < CHUNK) continue;
      yield Buffer.concat(parts);
      parts.length = 0;
      bytes = 0;
    }
    yield Buffer.concat(parts);
  };
  await pipeline(lines, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  const columns = Array.from({ length: width }, (_, at) => `c${at}: 'VARCHAR'`);
  const line = Math.max(2_000_000, longest + 2);
  // By default, DuckDB reads 16 lines of the greatest length at once, which may not fit in memory.
  const ends = `new_line = '\\n', max_line_size = ${line}, buffer_size = ${Math.max(32_000_000, line)}, parallel = false`;
  // No text of a cell stands for NULL: a cell without quotation marks cannot contain a line break.
  const empty = `null_padding = true, nullstr = '\n', allow_quoted_nulls = false`;
  return `read_csv(${quoted(path)}, columns = {${columns}}, auto_detect = false, header = false, delim = '${separator}', quote = '"', escape = '"', ${empty}, ${ends})`;
}

const cellOf = (text = '') => (text.includes('"') ? `"${text.replaceAll('"', '""')}"` : `"${text}"`);

async function runQuery(connection: DuckDBConnection, sql: string, { onProgress }: EngineLimits) {
  onProgress();
  let stopped: { why: unknown } | undefined;
  const timer = setInterval(() => {
    try {
      onProgress();
    } catch (why) {
      stopped ??= { why };
      connection.interrupt();
    }
  }, PROGRESS_EVERY_MS);
  try {
    const rows = (await connection.runAndReadAll(sql)).getRowsJson();
    return rows as (string | null)[][];
  } catch (error) {
    throw stopped ? stopped.why : engineError(error);
  } finally {
    clearInterval(timer);
  }
}

/** An error of DuckDB. Its message would quote rows and paths, so only its kind is kept. */
export class EngineError extends TableError {
  /** `disk`, `memory`, or DuckDB's name of the error type. */
  readonly kind: string;

  constructor(kind: string) {
    super(`DuckDB ended with "${kind}".`);
    this.kind = kind;
  }
}

/** Why the engine failed: the kind of its error, or `disk`. `undefined` for any other error. */
export function engineTrouble(error: unknown): string | undefined {
  const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
  return isFull ? 'disk' : error instanceof EngineError ? error.kind : undefined;
}

function engineError(error: unknown): EngineError {
  const message = error instanceof Error ? error.message : '';
  if (/max_temp_directory_size|No space left on device/.test(message)) return new EngineError('disk');
  if (message.startsWith('Out of Memory Error')) return new EngineError('memory');
  return new EngineError(/^[A-Z][A-Za-z ]{2,40} Error(?=:)/.exec(message)?.[0] ?? 'no known error');
}
