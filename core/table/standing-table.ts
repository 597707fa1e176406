import type { ParquetObjects } from '../storage/parquet-objects.ts';

/** What the metadata of a table say: names of executions and a digest, no data. */
export interface TableAuthor {
  /** The run whose file it is made of. */
  run: string;
  /** The execution that wrote it: another one if a person asked for it. */
  execution: string;
  /** Digest of the column settings that it was written under; '' if it has none. */
  settings: string;
}

export interface StandingTable extends TableAuthor {
  etag: string;
  bytes: number;
}

/** The metadata of a table. A header takes few letters, and the name of an execution may have any. */
export function tableMetadata({ run, execution, settings }: TableAuthor): Record<string, string> {
  return { run: encodeURIComponent(run), execution: encodeURIComponent(execution), settings };
}

/**
 * `undefined` if there is none.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function standingTable(
  objects: Pick<ParquetObjects, 'head'>,
  key: string,
): Promise<StandingTable | undefined> {
  const found = await objects.head(key);
  if (!found) return undefined;
  const { etag, bytes, metadata } = found;
  const { run, execution, settings = '' } = metadata;
  return { etag, bytes, run: decoded(run), execution: decoded(execution), settings };
}

/** What the metadata says; empty if another program wrote it. */
function decoded(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
