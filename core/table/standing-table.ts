import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { isGone, storageError } from '../storage/storage-errors.ts';
import { SETTINGS_KEY } from './settings-digest.ts';

/** What the metadata of a table say: names of executions and a digest, no data. */
export interface TableAuthor {
  /** The run whose file it is made of. */
  run: string;
  /** The execution that wrote it: another one where a person asked for it. */
  execution: string;
  /** Digest of the settings that it was written under; '' where another program wrote it. */
  settings: string;
}

export interface StandingTable extends TableAuthor {
  etag: string;
}

/**
 * `undefined` where there is none.
 * @param count called for the request
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function readStandingTable(
  client: S3Client,
  bucket: string,
  key: string,
  count: () => void = () => undefined,
): Promise<StandingTable | undefined> {
  count();
  try {
    const { ETag = '', Metadata = {} } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    const { run, execution, [SETTINGS_KEY]: settings = '' } = Metadata;
    return { etag: ETag, run: decoded(run), execution: decoded(execution), settings };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw storageError(error, 'read', key);
  }
}

/** What the metadata says; empty where it is none of ours. */
function decoded(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
