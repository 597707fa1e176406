import { RunError } from '../errors.ts';
import type { Csv } from '../files/judge-file.ts';
import type { Scan } from '../step/scan.ts';
import type { CsvEnd } from './csv-pass.ts';
import type { Reading } from './reading.ts';

type Where = Pick<Reading, 'what' | 'undeclaredEnd'>;

/** @throws RunError `FileRejected` for a CSV file that was cut off, or may have been */
export function refuseCut({ what, undeclaredEnd }: Where, csv: Csv, scan: Scan, end: CsvEnd): void {
  if (end.quoted || end.cut) {
    const where = end.cut ? 'in the middle of a character' : 'inside a quoted field';
    throw new RunError('FileRejected', `${what} is CSV that ends ${where}: the CRM cut it off.`);
  }
  const doubt = undeclaredEnd && doubtOf(csv, scan, end);
  if (doubt) throw doubtfulEnd(what, doubt);
}

/**
 * A file whose end was marked only by the closing of its connection may be cut off: its shape has to prove it whole. A
 * cut between two rows stays unseen; the manifest warns of it.
 */
export function doubtfulEnd(what: string, doubt: string): RunError {
  const came = `${what} came without a declared end, and whether it is whole cannot be known: ${doubt}.`;
  return new RunError('FileRejected', came);
}

function doubtOf(csv: Csv, scan: Scan, end: CsvEnd): string | undefined {
  if (scan.doubts > 0) return 'not all of its line breaks are of one kind';
  if (!end.lineBreak) return 'its last row does not end with a line break';
  if (csv.separatorProven && scan.irregular > 0) return 'not all of its rows have as many fields as its first';
  return undefined;
}
