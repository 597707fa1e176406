import type { ErrorName } from '../errors.ts';
import type { Tries } from './chunk-parts.ts';
import type { UpdateRecord } from './read-chunk.ts';
import type { ResultLine } from './result-line.ts';

/**
 * The result of a line that is not sent any more.
 * @param reason why
 * @param at when, where the outcome was known before the batch was summarized
 */
export function unfinishedLine(
  { line, record }: UpdateRecord,
  { attempts, lost, status }: Tries,
  reason: ErrorName,
  at: string | null,
): ResultLine {
  const of = { line, id: record.id };
  if (lost) return { ...of, outcome: 'UNKNOWN', error: reason, status, attempts, at };
  if (attempts === 0) return { ...of, outcome: 'NOT_SENT', error: reason, status: null, attempts, at: null };
  // It was refused, and would have been retried.
  return { ...of, outcome: 'FAILED', error: errorOf(status), status, attempts, at };
}

function errorOf(status: number | null): ErrorName {
  if (status === 429) return 'RateLimited';
  return status === 401 || status === 403 ? 'AuthRefused' : 'CrmUnavailable';
}
