import { crc32 } from 'node:zlib';
import type { RunError } from '../../core/errors.ts';
import { endScan, scanCsv } from '../../core/files/csv-scan.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import { narrowed } from '../../core/files/kernel/kernel.ts';
import { endEncoding, scanEncoding } from '../../core/files/scan-encoding.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { NOTHING_SCANNED, type Scan, type StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable, readObject } from '../../core/storage/read-object.ts';

/** Left for the manifest, the pointers and the answer. */
const MARGIN_SECONDS = 30;

export interface Pass {
  scan: Scan;
  /** Bytes that this invocation has read. */
  read: number;
  /** An error: the bucket could not be read further. */
  ended: 'whole' | 'time' | RunError;
  /** A line break follows the last record of a CSV. */
  lastRecordEnded: boolean;
  /** The file ends in the middle of a character. */
  cut: boolean;
}

/**
 * Reads the stored object from where the last invocation stopped: size, checksum, and records.
 * @param csv `null` where no records are counted
 * @throws RunError `StorageConflict` when the object is gone or another; `StorageUnavailable` when nothing could be read
 */
export async function scanStored(
  file: StoredFile,
  csv: Csv | null,
  before: Scan | null,
  deps: Pick<Invocation, 'secondsLeft'> & { bucket: Bucket },
): Promise<Pass> {
  const scan = { ...(before?.version === NOTHING_SCANNED.version ? before : NOTHING_SCANNED) };
  const from = scan.offset;
  const stopped = () => ({ scan, read: scan.offset - from, lastRecordEnded: false, cut: false });
  // Half of a character waits for its other half, or is read again by the next invocation.
  let half: Uint8Array = new Uint8Array();
  try {
    for await (const chunk of readObject(deps.bucket, file.key, { from, size: file.bytes, object: scan })) {
      const bytes = half.length > 0 ? Buffer.concat([half, chunk]) : chunk;
      const even = isWide(csv) ? bytes.length - (bytes.length % 2) : bytes.length;
      half = bytes.slice(even);
      advance(scan, bytes.subarray(0, even), csv);
      if (deps.secondsLeft() < MARGIN_SECONDS && scan.offset + half.length < file.bytes)
        return { ...stopped(), ended: 'time' };
    }
  } catch (error) {
    if (!isUnavailable(error) || scan.offset === from) throw error;
    return { ...stopped(), ended: error };
  }
  advance(scan, half, null);
  const lastRecordEnded = csv !== null && scan.blank && scan.records > 0;
  endScan(scan, csv ?? { breaksAtCr: false });
  endEncoding(scan);
  return { scan, read: scan.offset - from, ended: 'whole', lastRecordEnded, cut: half.length > 0 };
}

function advance(scan: Scan, bytes: Uint8Array, csv: Csv | null): void {
  const skipped = csv ? Math.max(0, csv.skip - scan.offset) : 0;
  scan.offset += bytes.byteLength;
  scan.crc32 = crc32(bytes, scan.crc32);
  if (!csv) return;
  const text = isWide(csv) ? narrowed(bytes, csv.encoding) : bytes;
  scanEncoding(scan, text);
  scanCsv(scan, text.subarray(isWide(csv) ? skipped / 2 : skipped), csv);
}

function isWide(csv: Csv | null): csv is Csv & { encoding: 'utf-16le' | 'utf-16be' } {
  return csv?.encoding === 'utf-16le' || csv?.encoding === 'utf-16be';
}
