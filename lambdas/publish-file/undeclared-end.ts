import { RunError } from '../../core/errors.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import type { StoredFile } from '../../core/step/states.ts';
import type { Pass } from './scan-stored.ts';

/**
 * A file whose end was marked only by the closing of its connection may be cut off: its shape has to prove it whole. A
 * cut exactly between two rows stays unseen; the manifest warns of it.
 * @throws RunError `FileRejected`
 */
export function refuseDoubtfulEnd(file: StoredFile, csv: Csv | null, pass: Pass): void {
  const doubt = file.undeclaredEnd && doubtOf(file, csv, pass);
  if (!doubt) return;
  throw new RunError(
    'FileRejected',
    `The file at ${file.key} came without a declared end, and whether it is whole cannot be known: ${doubt}.`,
  );
}

function doubtOf({ bytes }: StoredFile, csv: Csv | null, { scan, lastRecordEnded }: Pass): string | undefined {
  if (bytes === 0) return 'it is empty';
  if (!csv) return 'it is no CSV file';
  if (scan.doubts > 0) return 'not all of its line breaks are of one kind';
  if (!lastRecordEnded) return 'its last row does not end with a line break';
  if (csv.separatorProven && scan.irregular > 0) return 'not all of its rows have as many fields as its first';
  return undefined;
}
