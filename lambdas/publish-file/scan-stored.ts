import { crc32 } from 'node:zlib';
import { RunError } from '../shared/errors.ts';
import { endScan, NOTHING_SCANNED, scanCsv } from '../shared/files/csv-scan.ts';
import type { Scan, StoredFile } from '../shared/states.ts';
import type { StepDeps } from '../shared/step.ts';
import type { Bucket } from '../shared/storage/bucket.ts';

/** Left for the manifest, the pointers and the answer. */
const MARGIN_SECONDS = 30;

export interface Pass {
  /** As far as it came. */
  scan: Scan;
  /** Whether it reached the end. */
  done: boolean;
  /** Whether a line break stands behind the last record of a CSV. */
  lastRecordEnded: boolean;
}

/**
 * Reads the stored object once, from where the last invocation stopped: size and checksum of any file, records of a CSV.
 * @throws RunError `StorageConflict` when the object is gone.
 */
export async function scanStored(
  file: StoredFile,
  before: Scan | null,
  deps: Pick<StepDeps, 'secondsLeft'> & { bucket: Bucket },
): Promise<Pass> {
  const scan = { ...(before ?? NOTHING_SCANNED) };
  const chunks = await deps.bucket.stream(file.key, scan.offset);
  if (!chunks) throw new RunError('StorageConflict', `The object at ${file.key}, which this run stored, is gone.`);
  const csv = isCsv(file.key);
  for await (const chunk of chunks) {
    scan.offset += chunk.byteLength;
    scan.crc32 = crc32(chunk, scan.crc32);
    if (csv) scanCsv(scan, chunk);
    if (deps.secondsLeft() < MARGIN_SECONDS && scan.offset < file.bytes)
      return { scan, done: false, lastRecordEnded: false };
  }
  const lastRecordEnded = csv && scan.blank && scan.records > 0;
  endScan(scan);
  return { scan, done: true, lastRecordEnded };
}

export function isCsv(key: string): boolean {
  return key.endsWith('.csv');
}
