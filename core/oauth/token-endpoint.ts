import ky from 'ky';
import * as z from 'zod/mini';
import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';
import type { OAuthSettings } from '../config/deployment.ts';
import { codeOf, neverSent } from '../http/network-errors.ts';
import { UnreadableBody, type WholeAnswer, wholeAnswer } from '../http/whole-answer.ts';
import { jsonOrUndefined } from '../json.ts';
import type { NewTokens, OAuthClient } from './secrets.ts';

const LARGEST_ANSWER_BYTES = 1_000_000;
/** The longest life of a token, some thirty years: a longer one means "never". */
const LONGEST_LIFE_SECONDS = 1_000_000_000;
/** A longer one is a mistake. */
const LONGEST_RETRY_AFTER_SECONDS = 3600;

const number = z.pipe(z.union([z.number(), z.string()]), z.transform(Number));
const lifeSchema = z.pipe(number, z.number().check(z.positive(), z.maximum(LONGEST_LIFE_SECONDS)));

/** The answer is read tolerantly: a rotated token must be stored before anything else. */
const answerSchema = z.object({
  access_token: z.string().check(z.minLength(1)),
  refresh_token: z.catch(z.nullish(z.string().check(z.minLength(1))), undefined),
  expires_in: z.catch(z.nullish(lifeSchema), undefined),
  scope: z.catch(z.nullish(z.string()), undefined),
  token_type: z.catch(z.nullish(z.string()), undefined),
});
const errorSchema = z.object({ error: z.string() });

export type Grant =
  | { grant_type: 'refresh_token'; refresh_token: string }
  | { grant_type: 'authorization_code'; code: string; redirect_uri: string; code_verifier: string };

/**
 * The result of one call, by what it means for the presented refresh token. `granted`: spent, its successor is here.
 * `invalidGrant`: worthless. `refused`, `busy`, `notSent`: not processed. `lost`: unknown.
 */
export type TokenAnswer =
  | {
      kind: 'granted';
      tokens: Omit<NewTokens, 'refreshToken'> & { refreshToken: string | undefined };
      oddities: string[];
    }
  | {
      kind: 'invalidGrant' | 'refused' | 'busy' | 'notSent' | 'lost';
      message: string;
      /** HTTP status of a refusal. */
      status?: number;
      retryAfterSeconds?: number | undefined;
    };

interface TokenCall {
  crm: OAuthSettings;
  client: OAuthClient;
  grant: Grant;
  /** The scope that counts where the answer names none. */
  scope: string;
  timeoutMs: number;
  now: () => Date;
}

/** One call of the token endpoint, never repeated here: a code or a rotating refresh token can be spent once. */
export async function callTokenEndpoint(call: TokenCall): Promise<TokenAnswer> {
  // The time is taken before the request: the life of a token is counted from its issue, and this errs on the safe
  // side.
  const obtainedAt = call.now();
  try {
    const limits = { milliseconds: call.timeoutMs, bytes: LARGEST_ANSWER_BYTES };
    const response = await wholeAnswer((signal) => post(call, signal), limits);
    const body = jsonOrUndefined(await response.text());
    return response.ok ? granted(response, body, obtainedAt, call) : refusal(response, body, call);
  } catch (error) {
    if (error instanceof UnreadableBody)
      return { kind: 'lost', message: `The token endpoint answered ${error.message}.` };
    const code = codeOf(error);
    const message = `The token endpoint did not answer (${code ?? (error instanceof Error ? error.name : 'unknown')}).`;
    return { kind: neverSent(error) ? 'notSent' : 'lost', message };
  }
}

function post({ crm, client, grant }: TokenCall, signal: AbortSignal): Promise<Response> {
  const body = new URLSearchParams(grant);
  const headers = new Headers({ accept: 'application/json' });
  authenticate(crm.clientAuthentication, client, headers, body);
  return ky.post(`${crm.authUrl.replace(/\/$/, '')}/oauth/token`, {
    body,
    headers,
    retry: 0,
    redirect: 'manual',
    throwHttpErrors: false,
    timeout: false,
    signal,
  });
}

function granted(response: WholeAnswer, body: unknown, obtainedAt: Date, { scope, crm }: TokenCall): TokenAnswer {
  const answer = answerSchema.safeParse(body);
  if (!answer.success)
    return { kind: 'lost', message: `The token endpoint answered ${response.status} without a token.` };
  const { access_token: accessToken, refresh_token, expires_in, scope: answered, token_type } = answer.data;
  const oddities = [
    response.status === 200 ? '' : `status ${response.status}`,
    /^bearer$/i.test(token_type ?? '') ? '' : 'no token_type "Bearer"',
    expires_in ? '' : isOddLife(body) ? ODD_LIFE : 'no usable expires_in',
  ].filter(Boolean);
  const tokens = {
    refreshToken: refresh_token ?? undefined,
    accessToken,
    expiresAt: expires_in ? new Date(obtainedAt.getTime() + expires_in * 1000).toISOString() : null,
    obtainedAt: obtainedAt.toISOString(),
    // Scopes that were not requested are dropped: people will see this list.
    scope: answered ? crm.scopes.filter((name) => answered.split(' ').includes(name)).join(' ') : scope,
  };
  return { kind: 'granted', tokens, oddities };
}

export const ODD_LIFE = 'expires_in is neither a number nor a text';

function isOddLife(body: unknown): boolean {
  const life = z.safeParse(z.object({ expires_in: z.unknown() }), body).data?.expires_in;
  return !['undefined', 'number', 'string'].includes(typeof life) && life !== null;
}

/** RFC 6749, section 2.3.1: Basic takes id and secret form-encoded. Many servers want them raw, some in the form. */
function authenticate(
  how: OAuthSettings['clientAuthentication'],
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

function refusal(response: WholeAnswer, body: unknown, call: TokenCall): TokenAnswer {
  const { status, headers } = response;
  const error = errorSchema.safeParse(body);
  const code = error.success ? errorWord(error.data.error) : undefined;
  const message = `The token endpoint answered ${status}${code ? `: ${code}` : ''}.`;
  // A 5xx does not prove that the grant is invalid.
  if (code === 'invalid_grant' && status < 500) return { kind: 'invalidGrant', message, status };
  if (status === 429 || status === 503) {
    const seconds = retryAfterSeconds(headers.get('retry-after'), call.now());
    return {
      kind: 'busy',
      message,
      status,
      retryAfterSeconds: seconds && Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS),
    };
  }
  if (status >= 500 || status === 408) return { kind: 'lost', message, status };
  return { kind: 'refused', message, status };
}

/** Error codes of RFC 6749, sections 4.1.2.1 and 5.2. */
const WORDS = [
  'access_denied',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
];

/** The `error` of an answer, for messages: any other word, and its description, may repeat a code or a token. */
export function errorWord(error: string): string {
  return WORDS.includes(error) ? error : 'another word than those of RFC 6749';
}
