import type { Problem } from './problems.ts';
import { isId, isUpdateLine } from './quick-check.ts';
import { SeenIds } from './seen-ids.ts';
import { problemsOf, type UpdateLine } from './update-line.ts';

/** One valid record of an update file. */
interface UpdateRecord {
  /** Physical line on which the record begins, from 1. */
  line: number;
  /** Where that line begins in the file, in bytes; `null` for CSV, whose bytes nobody cuts. */
  from: number | null;
  /** Whom it changes, and what: `const { id, ...fields } = record`. */
  record: UpdateLine;
}

/** What a file is read into: valid records, and what is wrong, in the order of the lines. */
export type UpdateEntry = UpdateRecord | Problem;

export function isProblem(entry: UpdateEntry): entry is Problem {
  return 'sentence' in entry;
}

/** Checks records one by one, and that no id comes twice: the order of two changes to one customer would not be kept. */
export class RecordCheck {
  readonly #seen = new SeenIds();

  /** Adds to `to` the record, or everything that is wrong with it. */
  check(line: number, from: number | null, record: Record<string, unknown>, to: UpdateEntry[]): void {
    const known = isId(record.id);
    const first = known ? this.#seen.seenBefore(String(record.id), line) : undefined;
    if (known && first === undefined && isUpdateLine(record)) {
      to.push({ line, from, record });
      return;
    }
    if (first !== undefined) {
      to.push({ line, field: 'id', sentence: `is the same as on line ${first}: a file changes a customer once` });
    }
    to.push(...problemsOf(line, record));
  }
}
