import { CsvPass } from '../../core/content/csv-pass.ts';
import type { RunError } from '../../core/errors.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { NOTHING_SCANNED, type Scan } from '../../core/step/scan.ts';
import type { StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable, readObject } from '../../core/storage/read-object.ts';

/** Seconds that are left for the manifest, the pointers and the answer. */
export const MARGIN_SECONDS = 30;

export interface Pass {
  scan: Scan;
  /** Bytes that this invocation has read. */
  read: number;
  /** An error: the bucket could not be read further. */
  ended: 'whole' | 'time' | RunError;
  /** `null` where it was not read to its end. */
  end: ReturnType<CsvPass['end']> | null;
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
  const pass = new CsvPass(before?.version === NOTHING_SCANNED.version ? before : NOTHING_SCANNED, csv);
  const { scan } = pass;
  const from = scan.offset;
  const stopped = () => ({ scan, read: scan.offset - from, end: null });
  try {
    for await (const chunk of readObject(deps.bucket, file.key, { from, size: file.bytes, object: scan })) {
      pass.push(chunk);
      if (deps.secondsLeft() < MARGIN_SECONDS && pass.seen < file.bytes) return { ...stopped(), ended: 'time' };
    }
  } catch (error) {
    if (!isUnavailable(error) || scan.offset === from) throw error;
    return { ...stopped(), ended: error };
  }
  const end = pass.end();
  return { scan, read: scan.offset - from, ended: 'whole', end };
}
