import type { LineOutcome } from '../../core/batch/result-line.ts';
import type { UpdateAnswer } from '../../core/crm/customers.ts';

/** When the CRM fails or does not answer: an update is idempotent. */
const ATTEMPTS = 3;
/** When the CRM requests a wait. */
const THROTTLED_ATTEMPTS = 8;

/** Any other 4xx refuses the line itself, and would do so again. */
const OF_US_OR_TIME = new Set([401, 403, 429]);

/** How often a line with this answer is sent. */
export function attemptsFor({ status, change }: UpdateAnswer): number {
  if (status === 429) return THROTTLED_ATTEMPTS;
  return change === 'unclear' ? ATTEMPTS : 1;
}

/**
 * The outcome of a line by its last answer.
 * @param inDoubt whether any attempt may have made the change: no later refusal takes that back; a 409 or 412 may be its echo
 */
export function outcomeOf({ status, change }: Pick<UpdateAnswer, 'status' | 'change'>, inDoubt: boolean): LineOutcome {
  if (change === 'made') return 'APPLIED';
  if (inDoubt || status === null) return 'UNKNOWN';
  return OF_US_OR_TIME.has(status) ? 'FAILED' : 'REJECTED';
}

/** Whether every further line would fail alike: no token is accepted, the grant is dead, or lacks the scope. */
export function stopsAll({ status, error, scopeMissing = false }: UpdateAnswer): boolean {
  return status === 401 || scopeMissing || error?.name === 'ReauthorizationRequired' || error?.name === 'ConfigInvalid';
}
