import { firstRecordOf } from '../../core/files/csv-repeats.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { scanStored } from '../../lambdas/publish-file/scan-stored.ts';

const HEADER = 'customerId,firstName,lastName,phone,city,createdAt,status\n';

type Reading = Pick<Csv, 'encoding' | 'breaksAtCr'>;

/** The pass of PublishFile over a CSV file of that size: checksum, encoding, records. @returns how many records it has */
export async function scanObject(
  bucket: Pick<Bucket, 'stream'>,
  key: string,
  bytes: number,
  reading: Reading,
): Promise<number> {
  // No record repeats the first one, as in most files.
  const first = firstRecordOf(HEADER, ',');
  const csv: Csv = {
    separator: ',',
    separatorProven: true,
    separatorLine: 0,
    width: 0,
    headed: true,
    firstRecord: null,
    seemsHeaded: false,
    names: null,
    first,
    skip: 0,
    byteOrderMark: false,
    ...reading,
  };
  const stored = { key, bytes, crc32: '', contentType: 'text/csv', storedAt: '', restarts: 0, undeclaredEnd: false };
  const { scan, ended } = await scanStored(stored, csv, null, { bucket: bucket as Bucket, secondsLeft: () => 900 });
  if (ended !== 'whole' || scan.offset !== bytes)
    throw new Error(`The pass ended at ${scan.offset} of ${bytes} bytes.`);
  return scan.records;
}
