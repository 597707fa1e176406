import { FIELD_RULES } from '../../core/updates/customer-fields.ts';
import type { ProblemReport } from '../../core/updates/problems.ts';

/** What is wrong with a file, in one sentence: counts, and the first line with its field. No values, and no foreign names. */
export function problemsSentence(key: string, lines: number, { total, first }: ProblemReport): string {
  const [problem] = first;
  const count = total === 1 ? 'one problem' : `${total} problems`;
  if (!problem) return `${key} has ${count}.`;
  if (problem.line === 0) return `${key} ${problem.sentence}.`;
  const field = problem.field === null ? 'it' : nameOf(problem.field);
  return `${key} has ${count} in ${lines} lines. The first is on line ${problem.line}: ${field} ${problem.sentence}.`;
}

/** A name that nobody knows may be anything, a value in the wrong place included. */
function nameOf(field: string): string {
  return field === 'id' || FIELD_RULES.has(field) ? `"${field}"` : 'a name in it';
}
