import type { Problem } from './problems.ts';
import { SeenIds } from './seen-ids.ts';
import { hasId, type LineRules, problemsOf, type WithId } from './update-line.ts';

/** One valid record of an update file. */
interface UpdateRecord {
  /** Physical line on which the record begins, from 1. */
  line: number;
  /** Where that line begins in the file, in bytes; `null` for CSV. */
  from: number | null;
  /** `const { id, ...fields } = record` */
  record: WithId;
}

/** Valid records and problems, in the order of the lines. */
export type UpdateEntry = UpdateRecord | Problem;

export function isProblem(entry: UpdateEntry): entry is Problem {
  return 'sentence' in entry;
}

/** Adds to `to` the record, or everything that is wrong with it. */
export type RecordCheck = (
  line: number,
  from: number | null,
  record: Record<string, unknown>,
  to: UpdateEntry[],
) => void;

/** Checks records, and that no id comes twice: the order of two changes to one customer would not be kept. */
export function createRecordCheck(rules: LineRules): RecordCheck {
  const seen = new SeenIds();
  return (line, from, record, to) => {
    const problems = problemsOf(line, record, rules);
    const known = hasId(record);
    const first = known ? seen.seenBefore(record.id, line) : undefined;
    if (first !== undefined) {
      to.push({ line, field: 'id', sentence: `is the same as on line ${first}: a file changes a customer once` });
    } else if (known && problems.length === 0) {
      to.push({ line, from, record });
    }
    to.push(...problems);
  };
}

/** The check of lines of a batch under way, which were found valid, perhaps by another release with other rules. */
export const FOUND_VALID: RecordCheck = (line, from, record, to) => {
  to.push(hasId(record) ? { line, from, record } : { line, field: 'id', sentence: 'is no UUID' });
};
