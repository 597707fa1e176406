import * as z from 'zod/mini';
import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';
import type { OAuthSettings } from '../config/deployment.ts';
import { codeOf, neverSent } from '../http/network-errors.ts';
import { UnreadableBody, type WholeAnswer, wholeAnswer } from '../http/whole-answer.ts';
import { jsonOrUndefined } from '../json.ts';
import type { NewTokens, OAuthClient } from './secrets.ts';
import { meaningOfToken, type TokenMeaning } from './token-answers.ts';

const LARGEST_ANSWER_BYTES = 1_000_000;
/** A longer life, above about thirty years, means that the token never expires. */
const LONGEST_LIFE_SECONDS = 1_000_000_000;
/** A longer `Retry-After` counts as a mistake of the server, and is shortened. */
const LONGEST_RETRY_AFTER_SECONDS = 3600;

const number = z.pipe(z.union([z.number(), z.string()]), z.transform(Number));
const lifeSchema = z.pipe(number, z.number().check(z.positive(), z.maximum(LONGEST_LIFE_SECONDS)));

/** Invalid values of optional fields are ignored, because a rotated token must be stored in any case. */
const answerSchema = z.object({
  access_token: z.string().check(z.minLength(1)),
  refresh_token: z.catch(z.nullish(z.string().check(z.minLength(1))), undefined),
  expires_in: z.catch(z.nullish(lifeSchema), undefined),
  scope: z.catch(z.nullish(z.string()), undefined),
});

export type Grant =
  | { grant_type: 'refresh_token'; refresh_token: string }
  | { grant_type: 'authorization_code'; code: string; redirect_uri: string; code_verifier: string };

/** An answer without tokens; `token-answers.ts` lists the kinds of such answers. */
export interface Refusal {
  kind: Exclude<TokenMeaning, 'granted'>;
  message: string;
  status?: number;
  /** The code of a refusal, if RFC 6749 lists it. */
  code?: string | undefined;
  retryAfterSeconds?: number | undefined;
}

export type TokenAnswer =
  | Refusal
  | {
      kind: 'granted';
      tokens: Omit<NewTokens, 'refreshToken'> & { refreshToken: string | undefined };
    };

interface TokenCall {
  crm: OAuthSettings;
  client: OAuthClient;
  grant: Grant;
  /** The scope of the tokens if the answer has none. */
  scope: string;
  timeoutMs: number;
  now: () => Date;
}

/** Calls the token endpoint once, without a retry: a code or a rotating refresh token can be spent only once. */
export async function callTokenEndpoint(call: TokenCall): Promise<TokenAnswer> {
  // A token lives from its issue, which is not before the request.
  const obtainedAt = call.now();
  try {
    const limits = { milliseconds: call.timeoutMs, bytes: LARGEST_ANSWER_BYTES };
    const answer = await wholeAnswer((signal) => post(call, signal), limits);
    // The connection may have broken after the whole token had arrived. Without this, the token would be lost.
    const [text, unread] = answer.body instanceof UnreadableBody ? [answer.body.received, answer.body] : [answer.body];
    const read = answerOf(answer, jsonOrUndefined(text), obtainedAt, call);
    if (!unread || read.kind === 'granted') return read;
    return { kind: 'lost', message: `The token endpoint answered ${unread.message}.` };
  } catch (error) {
    const code = codeOf(error) ?? (error instanceof Error ? error.name : 'unknown');
    if (!neverSent(error)) return { kind: 'lost', message: `The token endpoint did not answer (${code}).` };
    return { kind: 'notSent', message: `There is no connection to the token endpoint at crm.authUrl (${code}).` };
  }
}

function post({ crm, client, grant }: TokenCall, signal: AbortSignal): Promise<Response> {
  const body = new URLSearchParams(grant);
  const headers = new Headers({ accept: 'application/json' });
  authenticate(crm.clientAuthentication, client, headers, body);
  const address = `${crm.authUrl.replace(/\/$/, '')}/oauth/token`;
  return fetch(address, { method: 'POST', body, headers, redirect: 'manual', signal });
}

function answerOf({ status, ok, headers }: WholeAnswer, body: unknown, obtainedAt: Date, call: TokenCall): TokenAnswer {
  const { means, message, code } = meaningOfToken(status, body);
  if (means === 'granted') return { kind: means, tokens: tokensOf(answerSchema.parse(body), obtainedAt, call) };
  const seconds = retryAfterSeconds(headers.get('retry-after'), headers.get('date'), call.now());
  const wait = seconds && Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS);
  return { kind: means, message, code, ...(!ok && { status }), retryAfterSeconds: wait };
}

function tokensOf(
  { access_token, refresh_token, expires_in, scope: granted }: z.infer<typeof answerSchema>,
  obtainedAt: Date,
  { scope, crm }: TokenCall,
) {
  return {
    refreshToken: refresh_token ?? undefined,
    accessToken: access_token,
    expiresAt: expires_in ? new Date(obtainedAt.getTime() + expires_in * 1000).toISOString() : null,
    obtainedAt: obtainedAt.toISOString(),
    // Scopes that were not requested are dropped, because people read this list. Some services separate scopes by
    // commas.
    scope: granted ? crm.scopes.filter((name) => granted.split(/[\s,]+/).includes(name)).join(' ') : scope,
  };
}

/** Basic authentication sends id and secret form-encoded (RFC 6749, section 2.3.1). Many servers expect another way. */
function authenticate(
  how: OAuthSettings['clientAuthentication'],
  { clientId, clientSecret }: OAuthClient,
  headers: Headers,
  body: URLSearchParams,
) {
  if (how === 'basic' || how === 'basic_raw') {
    const encoded = (text: string) => new URLSearchParams({ _: text }).toString().slice(2);
    const pair = [clientId, clientSecret].map((text) => (how === 'basic' ? encoded(text) : text)).join(':');
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    return;
  }
  body.set('client_id', clientId);
  if (how === 'post') body.set('client_secret', clientSecret);
}
