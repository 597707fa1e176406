import { RunError } from '../errors.ts';
import { codeOf, neverSent } from '../network-errors.ts';
import type { AccessToken } from '../oauth/access-token.ts';
import { retryAfterSeconds } from '../retry-after.ts';
import { type Call, unanswered } from './call.ts';

/** A call without any answer, as an error: certainly not sent, or perhaps received and its answer lost. */
export function notReached(error: unknown, call: Call): RunError {
  const code = codeOf(error);
  if (neverSent(error)) {
    const what = code?.includes('CERT')
      ? `the certificate of the service is not accepted (${code})`
      : `no connection to the service (${code})`;
    return new RunError('CrmUnavailable', `${call.method.toUpperCase()} ${call.template}: ${what}.`, { cause: error });
  }
  return unanswered(call, `got no answer (${code ?? (error instanceof Error ? error.name : 'unknown')})`, {
    cause: error,
  });
}

/**
 * An answer outside 2xx, as an error. Only status and type of the answer are quoted: the body may hold records, and a
 * "code" in it may be one as well.
 */
export async function refusal(response: Response, call: Call, token: AccessToken, now: Date): Promise<RunError> {
  // The status counts, whatever becomes of the body.
  await response.body?.cancel().catch(() => undefined);
  const { status } = response;
  const what = `${call.method.toUpperCase()} ${call.template} was answered ${status}${contentType(response)}`;
  const retry = { retryAfterSeconds: retryAfterSeconds(response.headers, now) };
  if (status >= 300 && status < 400)
    return new RunError('CrmContractError', `${what}, a redirect, which is not followed with credentials.`);
  if (status === 401) return new RunError('AuthRefused', `${what} twice, the second time with a fresh token.`);
  if (status === 403) return new RunError('AuthRefused', `${what}. ${scopesOf(token, call)}`);
  if (status === 429) return new RunError('RateLimited', `${what}: too many requests.`, retry);
  // A gateway that says 502 or 504 has lost the answer of the service behind it.
  if (status === 502 || status === 504) return unanswered(call, `was answered ${status} by a gateway`, retry);
  if (status >= 500 || status === 408 || status === 425) return new RunError('CrmUnavailable', `${what}.`, retry);
  if ((status === 404 || status === 410) && call.template.includes('{id}'))
    return new RunError('ExportNotFound', `${what}.`);
  return new RunError('CrmRejectedRequest', `${what}.`);
}

function scopesOf(token: AccessToken, call: Call): string {
  const needed = call.method === 'patch' ? 'updates need "customers:update"' : 'exports need "global:export"';
  return `The token has the scopes "${token.scope}"; ${needed} or what crm.scopes names for it.`;
}

function contentType(response: Response): string {
  const type = response.headers.get('content-type')?.match(/^[a-z]+\/[a-z+.-]+/i)?.[0];
  return type ? ` (${type})` : '';
}
