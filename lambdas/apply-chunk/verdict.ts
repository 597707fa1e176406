import type { UpdateAnswer } from '../shared/crm/customers.ts';
import { ERRORS } from '../shared/errors.ts';
import type { Outcome } from '../shared/updates/result-line.ts';

/** Attempts at one line where the service is in trouble or does not answer: an update may be sent again, it is idempotent. */
const ATTEMPTS = 3;
/** Attempts where the service asks us to wait: each is one wait more. */
const PATIENT_ATTEMPTS = 8;

/** Refused for what it is: the same line would be refused again. All other 4xx but those that speak of us or of time. */
const OF_US_OR_TIME = new Set([401, 403, 408, 425, 429]);

/** How often a line is sent that was answered so. */
export function attemptsFor({ status, error }: UpdateAnswer): number {
  if (status === null || status >= 500 || status === 408 || status === 425) return ATTEMPTS;
  if (status === 429) return PATIENT_ATTEMPTS;
  // A 401 whose fresh token could not be had yet.
  return error && ERRORS[error.name].class === 'transient' ? PATIENT_ATTEMPTS : 1;
}

/**
 * What became of a line by its last answer.
 * @param lost whether an attempt was never answered, the last one or one before. It may have changed the customer: no later
 *   refusal says that it did not.
 */
export function outcomeOf({ status, error }: UpdateAnswer, lost: boolean): Outcome {
  if (error === null) return 'APPLIED';
  if (lost || status === null) return 'UNKNOWN';
  return status >= 400 && status < 500 && !OF_US_OR_TIME.has(status) ? 'REJECTED' : 'FAILED';
}

/** Whether every further line would end alike: the grant or its rights do not suffice. */
export function stopsAll({ status, error }: UpdateAnswer): boolean {
  return status === 401 || status === 403 || (error !== null && error.name === 'ReauthorizationRequired');
}
