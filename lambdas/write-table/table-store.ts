import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { isGone, storageError } from '../../core/storage/storage-errors.ts';
import { SETTINGS_KEY } from '../../core/table/settings-digest.ts';
import { TableUpload } from './table-upload.ts';

/** What the metadata of a table say: names of executions and a digest, no data. */
interface Author {
  /** The run whose file it is made of. */
  run: string;
  /** The execution that wrote it: another one where a person asked for it. */
  execution: string;
  /** Digest of the settings that it was written under; '' where another program wrote it. */
  settings: string;
}

export interface StandingTable extends Author {
  etag: string;
}

/** The tables of a bucket. */
export interface TableStore {
  /** `undefined` where there is none. @throws RunError `StorageDenied` or `StorageUnavailable` */
  standing(key: string): Promise<StandingTable | undefined>;
  begin(key: string, author: Author): TableUpload;
}

/** Parts of this size reach 80 GB: S3 takes 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024;

/** @param count called for every request, except retries of the client */
export function createTableStore(
  client: S3Client,
  bucket: string,
  count: () => void = () => undefined,
  partBytes = PART_BYTES,
): TableStore {
  return {
    standing: async (key) => {
      count();
      try {
        const { ETag = '', Metadata = {} } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
        const { run, execution, [SETTINGS_KEY]: settings = '' } = Metadata;
        return { etag: ETag, run: decoded(run), execution: decoded(execution), settings };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw storageError(error, 'read', key);
      }
    },
    begin: (key, { run, execution, settings }) =>
      new TableUpload(
        { client, bucket, key, count, partBytes },
        { run: encoded(run), execution: encoded(execution), [SETTINGS_KEY]: settings },
      ),
  };
}

/** A header takes few letters, and the name of an execution may have any. */
const encoded = encodeURIComponent;

/** What the metadata says; empty where it is none of ours. */
function decoded(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
