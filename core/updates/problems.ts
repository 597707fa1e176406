/** A problem of a line of an update file. No sentence quotes a value: values are customer data. */
export interface Problem {
  /** Physical line of the file, from 1; 0 for the file as a whole. */
  line: number;
  /** Name of the field in the file, shortened; `null` for the line as a whole. */
  field: string | null;
  /** The end of a sentence that begins with the name of the field. */
  sentence: string;
}

/** Problems that are listed; the rest is counted. */
const KEPT = 20;
/** Names are the file's own: there may be any number of them. */
const COUNTED_FIELDS = 200;
const LONGEST_NAME = 40;

export interface ProblemReport {
  total: number;
  first: Problem[];
  /** How many problems each field has; the line as a whole under `(line)`, fields beyond 200 under `(others)`. */
  perField: Record<string, number>;
}

/** Collects problems in bounded memory, however many there are. */
export class Problems {
  #total = 0;
  readonly #first: Problem[] = [];
  readonly #perField = new Map<string, number>();

  add(problem: Problem): void {
    this.#total += 1;
    if (this.#first.length < KEPT) this.#first.push(problem);
    const named = problem.field ?? '(line)';
    const key = this.#perField.has(named) || this.#perField.size < COUNTED_FIELDS ? named : '(others)';
    this.#perField.set(key, (this.#perField.get(key) ?? 0) + 1);
  }

  get total(): number {
    return this.#total;
  }

  /** The fields with the most problems come first. */
  report(): ProblemReport {
    const perField = [...this.#perField].sort(([, a], [, b]) => b - a);
    return { total: this.#total, first: [...this.#first], perField: Object.fromEntries(perField) };
  }
}

/** A name from the file, fit for a line of a terminal: no control characters, at most 40 characters. */
export function shownName(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?');
  const letters = [...plain.slice(0, 2 * LONGEST_NAME)];
  const shown = letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME).join('')}…` : plain;
  return shown || '(empty name)';
}
