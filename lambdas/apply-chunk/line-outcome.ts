import type { Outcome } from '../../core/batch/result-line.ts';
import type { UpdateAnswer } from '../../core/crm/customers.ts';

/** Attempts at one line when the service fails or does not answer: an update is idempotent. */
const ATTEMPTS = 3;
/** Attempts when the service requests a wait. */
const THROTTLED_ATTEMPTS = 8;

/** A 4xx refuses the line itself, and would do so again, except for these, which are about our rights or about time. */
const OF_US_OR_TIME = new Set([401, 403, 408, 425, 429]);

/** How often a line with this answer is sent. */
export function attemptsFor({ status, change }: UpdateAnswer): number {
  if (status === 429) return THROTTLED_ATTEMPTS;
  if (status === 408 || status === 425) return ATTEMPTS;
  // Redirects are not followed, and would be the same at the next attempt.
  return change === 'unclear' && !isRedirect(status) ? ATTEMPTS : 1;
}

function isRedirect(status: number | null): boolean {
  return status !== null && status >= 300 && status < 400;
}

/**
 * The outcome of a line by its last answer.
 * @param inDoubt whether an attempt, the last one or one before, may have made the change. No later refusal takes that back,
 *   and a 409 or 412 may be its echo.
 */
export function outcomeOf({ status, change }: Pick<UpdateAnswer, 'status' | 'change'>, inDoubt: boolean): Outcome {
  if (change === 'made') return 'APPLIED';
  if (inDoubt || status === null) return 'UNKNOWN';
  return OF_US_OR_TIME.has(status) ? 'FAILED' : 'REJECTED';
}

/** Whether every further line would fail alike: no token is accepted, the grant is dead, or lacks the scope. */
export function stopsAll({ status, error, scopeMissing = false }: UpdateAnswer): boolean {
  return status === 401 || scopeMissing || error?.name === 'ReauthorizationRequired' || error?.name === 'ConfigInvalid';
}
