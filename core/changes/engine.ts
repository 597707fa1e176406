import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { FeedError } from './feed-error.ts';
import { FEED_DISK_MB } from './feeds.ts';

/** What a query may use. */
export interface EngineLimits {
  /** Memory of the function. */
  memoryMB: number;
  /** A folder on the function's disk, and the bytes that may be put there. */
  folder: string;
  diskBytes: number;
  /** Called before each query and while it runs. If it throws, the query is interrupted and its error is thrown. */
  onProgress: () => void;
}

/** Runs SQL. A failed query throws a FeedError or the error of `onProgress`, never an error of DuckDB. */
export type Query = (sql: string) => Promise<(string | null)[][]>;

/** DuckDB limits what its buffers take. Node.js, code, and what DuckDB does not count take the rest. */
const SHARE_OF_BUFFERS = 0.6;
const OUTSIDE_BUFFERS_MB = 150;
const LOOK_EVERY_MS = 250;

/**
 * Opens DuckDB for `use`: in memory, with one thread, so that equal queries of equal files write equal bytes. It installs and
 * loads no extension.
 */
export async function withEngine<T>(limits: EngineLimits, use: (query: Query) => Promise<T>): Promise<T> {
  const { memoryMB, folder, diskBytes } = limits;
  // Loaded when it is needed: its native part would delay the start of a function that has nothing to compare.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: `${Math.floor(memoryMB * SHARE_OF_BUFFERS - OUTSIDE_BUFFERS_MB)}MiB`,
    temp_directory: join(folder, 'spilled'),
    // Row groups are limited in bytes only without it. With one thread the order of rows stays as it is.
    preserve_insertion_order: 'false',
    // Freed memory goes back to the system at once. Else a query adds to what the one before has freed.
    allocator_background_threads: 'true',
    allocator_flush_threshold: '16MiB',
    allocator_bulk_deallocation_flush_threshold: '16MiB',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    // As an option of the instance it is not enforced.
    await connection.run(`SET max_temp_directory_size = '${Math.floor(diskBytes / 1024)}KiB'`);
    return await use((sql) => runQuery(connection, sql, limits));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** A text in SQL. */
export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
/** A column in SQL. */
export const named = (column: string) => `"${column.replaceAll('"', '""')}"`;
/** The rows of a Parquet file in SQL. */
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

/** Messages of DuckDB quote rows and paths: only their kind is passed on. */
export class EngineError extends FeedError {
  /** `disk`, `memory`, or the kind as DuckDB names it. */
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
