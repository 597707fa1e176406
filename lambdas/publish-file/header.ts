import { parse } from 'csv-parse/sync';
import { RunError } from '../shared/errors.ts';
import type { StoredFile } from '../shared/states.ts';
import type { Bucket } from '../shared/storage/bucket.ts';

/** No header line is longer; a file whose first record is has none. */
const LARGEST_HEADER = 256 * 1024;

/**
 * The names in the first record of a stored CSV file; empty for an empty file.
 * @throws RunError `FileRejected` when no first record can be read.
 */
export async function readHeader(bucket: Bucket, { key, bytes }: StoredFile): Promise<string[]> {
  // S3 refuses to read a range of an empty object.
  if (bytes === 0) return [];
  const start = await bucket.read(key, LARGEST_HEADER - 1);
  if (!start?.text) return [];
  try {
    const records = parse(start.text, {
      bom: true,
      // As the scan takes them (csv-scan.ts); csv-parse would guess from the first that it sees.
      record_delimiter: ['\r\n', '\n'],
      to: 1,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    });
    return records[0] ?? [];
  } catch (error) {
    throw new RunError('FileRejected', `The first line of the CSV file at ${key} cannot be read as a header.`, {
      cause: error,
    });
  }
}
