import type { Bucket } from '../storage/bucket.ts';

/** The metadata of a table: names of executions and a digest, no data. */
export interface TableAuthor {
  /** The run whose file the table is made of. */
  run: string;
  /** The execution that wrote the table. It differs from `run` if a person started it. */
  execution: string;
  /** Digest of the column settings of the table; '' if the table has no digest. */
  settings: string;
}

export interface StandingTable extends TableAuthor {
  etag: string;
  bytes: number;
}

/** Encodes the metadata of a table: a header allows few characters, and the name of an execution may contain any. */
export function tableMetadata({ run, execution, settings }: TableAuthor): Record<string, string> {
  return { run: encodeURIComponent(run), execution: encodeURIComponent(execution), settings };
}

/**
 * `undefined` if there is no table.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function standingTable(bucket: Pick<Bucket, 'head'>, key: string): Promise<StandingTable | undefined> {
  const found = await bucket.head(key);
  if (!found) return undefined;
  const { etag, bytes, metadata } = found;
  const { run, execution, settings = '' } = metadata;
  return { etag, bytes, run: decoded(run), execution: decoded(execution), settings };
}

/** Decodes a value of the metadata; '' if another program wrote it. */
function decoded(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
