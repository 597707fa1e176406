import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { FEED_DISK_MB } from './feed-entities.ts';
import { FeedError } from './feed-error.ts';

/** Limits of a query. */
export interface EngineLimits {
  /** Memory of the function. */
  memoryMB: number;
  /** A folder on the function's disk, and the bytes that DuckDB may store there. */
  folder: string;
  diskBytes: number;
  /** Called before each query and while it runs. If it throws, the query is interrupted and its error is thrown. */
  onProgress: () => void;
}

/** Runs SQL. A failed query throws a FeedError or the error of `onProgress`, never an error of DuckDB. */
export type Query = (sql: string) => Promise<(string | null)[][]>;

/** The memory limit of DuckDB covers only its buffers. Node.js, the code and DuckDB's other memory need the rest. */
const SHARE_OF_BUFFERS = 0.6;
const OUTSIDE_BUFFERS_MB = 150;
const LOOK_EVERY_MS = 250;

/**
 * Opens DuckDB for `use`: in memory, with one thread, so that equal queries of equal files write equal bytes. It
 * installs and loads no extension.
 */
export async function withEngine<T>(limits: EngineLimits, use: (query: Query) => Promise<T>): Promise<T> {
  const { memoryMB, folder, diskBytes } = limits;
  // Imported here: loading the native part would slow down the start of a function that compares nothing.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: `${Math.floor(memoryMB * SHARE_OF_BUFFERS - OUTSIDE_BUFFERS_MB)}MiB`,
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

async function runQuery(connection: DuckDBConnection, sql: string, { memoryMB, onProgress }: EngineLimits) {
  onProgress();
  let stopped: { why: unknown } | undefined;
  const look = setInterval(() => {
    try {
      onProgress();
    } catch (why) {
      stopped ??= { why };
      connection.interrupt();
    }
  }, LOOK_EVERY_MS);
  try {
    const rows = (await connection.runAndReadAll(sql)).getRowsJson();
    return rows as (string | null)[][];
  } catch (error) {
    throw stopped ? stopped.why : errorOf(error, memoryMB);
  } finally {
    clearInterval(look);
  }
}

/** An error of DuckDB. Its message would quote rows and paths, so only its kind is kept. */
export class EngineError extends FeedError {
  /** `disk`, `memory`, or DuckDB's name of the error type. */
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

function errorOf(error: unknown, memoryMB: number): EngineError {
  const message = error instanceof Error ? error.message : '';
  if (/max_temp_directory_size|No space left on device/.test(message))
    return new EngineError(
      'disk',
      `The tables do not fit on the function's disk of ${FEED_DISK_MB} MB. With fewer columns they take less: \`tables.except\` leaves them out.`,
    );
  if (message.startsWith('Out of Memory Error'))
    return new EngineError('memory', `The tables do not fit in the function's memory: tableMemoryMB is ${memoryMB}.`);
  const kind = /^[A-Z][A-Za-z ]{2,40} Error(?=:)/.exec(message)?.[0] ?? 'no known error';
  return new EngineError(
    kind,
    `A table, or the copy of the one before, cannot be read (DuckDB: ${kind}). The command \`table\` writes it again.`,
  );
}
