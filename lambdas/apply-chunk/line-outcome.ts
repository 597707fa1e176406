import type { Outcome } from '../../core/batch/result-line.ts';
import type { UpdateAnswer } from '../../core/crm/customers.ts';

/** Attempts at one line where the service is in trouble or does not answer: an update may be sent again, it is idempotent. */
const ATTEMPTS = 3;
/** Attempts where the service asks us to wait: each is one wait more. */
const PATIENT_ATTEMPTS = 8;

/** Refused for what it is: the same line would be refused again. All other 4xx but those that speak of us or of time. */
const OF_US_OR_TIME = new Set([401, 403, 408, 425, 429]);

/** How often a line is sent that was answered so. */
export function attemptsFor({ status, change }: UpdateAnswer): number {
  if (status === 429) return PATIENT_ATTEMPTS;
  if (status === 408 || status === 425) return ATTEMPTS;
  // Where a redirect leads is not looked at: it would be the same at the next attempt.
  return change === 'unclear' && !isRedirect(status) ? ATTEMPTS : 1;
}

function isRedirect(status: number | null): boolean {
  return status !== null && status >= 300 && status < 400;
}

/**
 * What became of a line by its last answer.
 * @param inDoubt whether an attempt, the last one or one before, may have made the change. No later refusal takes that back,
 *   and a 409 or 412 may be its echo.
 */
export function outcomeOf({ status, change }: Pick<UpdateAnswer, 'status' | 'change'>, inDoubt: boolean): Outcome {
  if (change === 'made') return 'APPLIED';
  if (inDoubt || status === null) return 'UNKNOWN';
  return OF_US_OR_TIME.has(status) ? 'FAILED' : 'REJECTED';
}

/** Whether every further line would end alike: no token is accepted, the grant is worth nothing, or lacks the scope. */
export function stopsAll({ status, error, scopeMissing = false }: UpdateAnswer): boolean {
  return status === 401 || scopeMissing || error?.name === 'ReauthorizationRequired' || error?.name === 'ConfigInvalid';
}
