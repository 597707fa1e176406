import ky from 'ky';
import * as z from 'zod';
import type { Deployment } from '../deployment.ts';
import { RunError } from '../errors.ts';
import { retryAfterSeconds } from '../retry-after.ts';
import type { OAuthClient, Tokens } from './secrets.ts';

/** Error codes of RFC 6749, section 5.2: only these are quoted, for anything else may be data. */
const CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
];

/** Token endpoints were seen to take more than ten seconds; giving up early loses a rotated token. */
const TIMEOUT_MS = 20_000;

/** In seconds, some thirty years: beyond it the number means "never", and no date can hold it. */
const LONGEST_LIFE = 1_000_000_000;

/** Read tolerantly: what was rotated must be stored before anything is complained about. */
const answerSchema = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).nullish().catch(undefined),
  expires_in: z.coerce.number().positive().max(LONGEST_LIFE).nullish().catch(undefined),
  scope: z.string().nullish().catch(undefined),
});

export type Grant =
  | { grant_type: 'refresh_token'; refresh_token: string }
  | { grant_type: 'authorization_code'; code: string; redirect_uri: string; code_verifier: string };

/**
 * One call of the token endpoint. Not repeated here: a code or a rotating refresh token can be spent once.
 *
 * @param known what stays as it was where the answer is silent (a server that does not rotate sends no refresh token).
 * @throws RunError `ReauthorizationRequired` (invalid_grant, or no refresh token at all), `ConfigInvalid` (the client or its
 *   scopes are refused), `CrmUnavailable`, `RateLimited`, `CrmContractError`.
 */
export async function requestTokens(
  crm: Deployment['crm'],
  client: OAuthClient,
  grant: Grant,
  known: { refreshToken?: string; scope: string },
  now: () => Date,
): Promise<Tokens> {
  // Before the request: the life of a token is counted from its issue, and this errs on the safe side.
  const obtainedAt = now();
  const response = await post(crm, client, grant);
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw refusal(response, body, now());
  const answer = answerSchema.safeParse(body);
  if (!answer.success) {
    throw new RunError('CrmContractError', `The token endpoint answered ${response.status} without an access_token.`);
  }
  const { access_token, refresh_token, expires_in, scope } = answer.data;
  const refreshToken = refresh_token ?? known.refreshToken;
  if (!refreshToken) {
    throw new RunError(
      'ReauthorizationRequired',
      'The service gave no refresh token: without one no night after this works.',
    );
  }
  return {
    refreshToken,
    accessToken: access_token,
    expiresAt: expires_in ? new Date(obtainedAt.getTime() + expires_in * 1000).toISOString() : null,
    obtainedAt: obtainedAt.toISOString(),
    scope: scope ?? known.scope,
  };
}

async function post(crm: Deployment['crm'], client: OAuthClient, grant: Grant): Promise<Response> {
  const body = new URLSearchParams(grant);
  const headers = new Headers({ accept: 'application/json' });
  authenticate(crm.clientAuthentication, client, headers, body);
  try {
    return await ky.post(`${crm.authUrl.replace(/\/$/, '')}/oauth/token`, {
      body,
      headers,
      retry: 0,
      redirect: 'manual',
      throwHttpErrors: false,
      timeout: TIMEOUT_MS,
    });
  } catch (error) {
    const name = error instanceof Error ? error.name : 'an unknown error';
    throw new RunError('CrmUnavailable', `The token endpoint of the service did not answer (${name}).`, {
      cause: error,
    });
  }
}

/** RFC 6749, section 2.3.1: Basic takes id and secret form-encoded; many servers want them raw, some want them in the form. */
function authenticate(
  how: Deployment['crm']['clientAuthentication'],
  client: OAuthClient,
  headers: Headers,
  body: URLSearchParams,
) {
  const encode =
    how === 'basic' ? (text: string) => new URLSearchParams({ _: text }).toString().slice(2) : (text: string) => text;
  if (how === 'basic' || how === 'basic_raw') {
    const pair = `${encode(client.clientId)}:${encode(client.clientSecret)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    return;
  }
  body.set('client_id', client.clientId);
  if (how === 'post') body.set('client_secret', client.clientSecret);
}

function refusal(response: Response, body: unknown, now: Date): RunError {
  const said = z.object({ error: z.enum(CODES) }).safeParse(body);
  const code = said.success ? said.data.error : undefined;
  const what = `The token endpoint answered ${response.status}${code ? ` ${code}` : ''}.`;
  if (code === 'invalid_grant') return new RunError('ReauthorizationRequired', what);
  if (code !== undefined || response.status === 401 || response.status === 403)
    return new RunError('ConfigInvalid', what);
  const retry = { retryAfterSeconds: retryAfterSeconds(response.headers, now) };
  if (response.status === 429) return new RunError('RateLimited', what, retry);
  if (response.status >= 500 || response.status === 408) return new RunError('CrmUnavailable', what, retry);
  return new RunError('CrmContractError', what);
}
