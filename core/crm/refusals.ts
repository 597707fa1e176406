import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';
import { EXPORT_SCOPE, UPDATE_SCOPE } from '../config/scopes.ts';
import { RunError } from '../errors.ts';
import { codeOf, neverSent } from '../http/network-errors.ts';
import type { AccessToken } from '../oauth/access-token.ts';
import { contentType } from './answers.ts';
import { type CrmCall, nameOf, unanswered } from './call.ts';
import type { CrmAnswer } from './error-code.ts';

/**
 * Busy, or not reached (521, 523, 525 and 526 are Cloudflare's). With any other 5xx, 408 or 425 the call may have been
 * processed.
 */
const NOT_PROCESSED = [503, 521, 523, 525, 526];
const MAYBE_PROCESSED = [408, 425];

/** Whether a call with this answer may have been processed: a create and an update mean the same by it. */
export function maybeProcessed(status: number): boolean {
  return (status >= 500 && !NOT_PROCESSED.includes(status)) || MAYBE_PROCESSED.includes(status);
}

/** The error of a call without an answer: not sent, or its answer was lost. */
export function notReached(error: unknown, call: CrmCall): RunError {
  const code = codeOf(error);
  if (neverSent(error)) {
    const what = code?.includes('CERT')
      ? `the certificate of the CRM is not accepted (${code})`
      : `no connection to the CRM (${code})`;
    return new RunError('CrmUnavailable', `${nameOf(call)}: ${what}.`, { cause: error });
  }
  const reason = code ?? (error instanceof Error ? error.name : 'unknown');
  return unanswered(call, `got no answer (${reason})`, { cause: error });
}

/** The error of an answer outside 2xx. Quotes only status, media type and code: the body may hold records. */
export function refusal(
  response: Pick<CrmAnswer, 'status' | 'headers' | 'code'>,
  call: CrmCall,
  token: AccessToken,
  now: Date,
): RunError {
  const { status } = response;
  const answered = answeredText(response);
  const what = `${nameOf(call)} ${answered}`;
  const retry = { retryAfterSeconds: retryAfterSeconds(response.headers.get('retry-after'), now), status };
  if (status >= 300 && status < 400)
    return new RunError('CrmContractError', `${what}, a redirect, which is not followed with credentials.`, {
      status,
    });
  if (status === 401)
    return new RunError('AuthRefused', `${what} twice, the second time with a fresh token.`, { status });
  if (status === 403) return new RunError('AuthRefused', `${what}. ${scopesOf(token, call)}`, { status });
  if (status === 429) return new RunError('RateLimited', `${what}: too many requests.`, retry);
  if (NOT_PROCESSED.includes(status)) return new RunError('CrmUnavailable', `${what}.`, retry);
  if (maybeProcessed(status)) return unanswered(call, answered, retry);
  if ((status === 404 || status === 410) && call.template.includes('{id}'))
    return new RunError('ExportNotFound', `${what}.`, { status });
  return new RunError('CrmRejectedRequest', `${what}.`, { status });
}

/** `was answered 400 (application/json), code "unknown_field"` */
function answeredText(response: Pick<CrmAnswer, 'status' | 'headers' | 'code'>): string {
  const code = response.code === undefined ? '' : `, code "${response.code}"`;
  return `was answered ${response.status}${contentType(response)}${code}`;
}

function scopesOf(token: AccessToken, call: CrmCall): string {
  const [what, scope] = call.method === 'patch' ? ['updates', UPDATE_SCOPE] : ['exports', EXPORT_SCOPE];
  const has = `The token has the scopes "${token.scope}"`;
  if (token.scope.split(/\s+/).includes(scope))
    return `${has}, with "${scope}", which ${what} need: the person who authorized lacks a right in the CRM.`;
  return `${has}; ${what} need "${scope}" or what crm.scopes names for it.`;
}
