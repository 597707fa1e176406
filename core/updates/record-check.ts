import { hasId, isUpdateLine, type LineRules, type WithId } from './fast-check.ts';
import type { Problem } from './problems.ts';
import { SeenIds } from './seen-ids.ts';
import { problemsOf } from './update-line.ts';

/** One valid record of an update file. */
interface UpdateRecord {
  /** Physical line on which the record begins, from 1. */
  line: number;
  /** Where that line begins in the file, in bytes; `null` for CSV, whose bytes nobody cuts. */
  from: number | null;
  /** `const { id, ...fields } = record` */
  record: WithId;
}

/** Valid records and problems, in the order of the lines. */
export type UpdateEntry = UpdateRecord | Problem;

export function isProblem(entry: UpdateEntry): entry is Problem {
  return 'sentence' in entry;
}

/** Checks records, and that no id comes twice: the order of two changes to one customer would not be kept. */
export class RecordCheck {
  readonly #seen = new SeenIds();
  readonly #rules: LineRules;

  constructor(rules: LineRules) {
    this.#rules = rules;
  }

  /** Adds to `to` the record, or everything that is wrong with it. */
  check(line: number, from: number | null, record: Record<string, unknown>, to: UpdateEntry[]): void {
    const known = hasId(record);
    const first = known ? this.#seen.seenBefore(record.id, line) : undefined;
    if (known && first === undefined && isUpdateLine(record, this.#rules)) {
      to.push({ line, from, record });
      return;
    }
    if (first !== undefined) {
      to.push({ line, field: 'id', sentence: `is the same as on line ${first}: a file changes a customer once` });
    }
    to.push(...problemsOf(line, record, this.#rules));
  }
}

/**
 * Accepts every record with an id: the lines of a batch under way were found valid, perhaps by an earlier release with other rules.
 */
export const FOUND_VALID: Pick<RecordCheck, 'check'> = {
  check: (line, from, record, to) =>
    to.push(hasId(record) ? { line, from, record } : { line, field: 'id', sentence: 'is no UUID' }),
};
