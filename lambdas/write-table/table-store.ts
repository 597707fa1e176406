import type { S3Client } from '@aws-sdk/client-s3';
import { ParquetUpload } from '../../core/storage/parquet-upload.ts';
import { SETTINGS_KEY } from '../../core/table/settings-digest.ts';
import { readStandingTable, type StandingTable, type TableAuthor } from '../../core/table/standing-table.ts';

/** The tables of a bucket. */
export interface TableStore {
  /** `undefined` where there is none. @throws RunError `StorageDenied` or `StorageUnavailable` */
  standing(key: string): Promise<StandingTable | undefined>;
  begin(key: string, author: TableAuthor): ParquetUpload;
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
    standing: (key) => readStandingTable(client, bucket, key, count),
    begin: (key, { run, execution, settings }) =>
      new ParquetUpload(
        { client, bucket, key, count, partBytes },
        { run: encoded(run), execution: encoded(execution), [SETTINGS_KEY]: settings },
      ),
  };
}

/** A header takes few letters, and the name of an execution may have any. */
const encoded = encodeURIComponent;
