import { createHash, timingSafeEqual } from 'node:crypto';
import type { Deployment } from '../../core/config/deployment.ts';
import { UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { errorWord } from '../../core/oauth/token-answers.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';

/** What an answer of the authorization endpoint is held against. */
export interface Expected {
  /** The `state` that this authorization sent. */
  state: string;
  crm: Pick<Deployment['crm'], 'authUrl' | 'scopes'>;
  /** The file in which a person changes the scopes. */
  configuration: string;
}

/** `unusable`: not an answer to this authorization, which goes on waiting. */
export type ServiceAnswer =
  | { kind: 'code'; code: string }
  | { kind: 'refused'; error: CommandError }
  | { kind: 'unusable'; why: string };

/** Judges the query with which the CRM sends a browser back (RFC 6749, 4.1.2; RFC 9207). */
export function judgeAnswer(query: URLSearchParams, expected: Expected): ServiceAnswer {
  const { state, crm } = expected;
  if (!sameText(query.get('state') ?? '', state)) {
    return { kind: 'unusable', why: 'This answer belongs to another authorization.' };
  }
  const issuer = query.get('iss');
  if (issuer !== null && !isIssuerOf(issuer, crm.authUrl)) {
    // Its value is not printed: it may hold a token.
    return refused(
      `The redirect names another issuer than crm.authUrl does (${crm.authUrl}). Nothing was stored: compare crm.authUrl with "iss" in the address line of the browser, correct what is wrong, and authorize again.`,
    );
  }
  const error = query.get('error');
  if (error) {
    const advice = error === 'invalid_scope' ? ` ${scopeAdvice(expected)}` : '';
    return refused(`The CRM refused the authorization: ${errorWord(error)}.${advice}`);
  }
  const code = query.get('code');
  return code ? { kind: 'code', code } : { kind: 'unusable', why: 'The answer holds no code.' };
}

function refused(sentence: string): ServiceAnswer {
  return { kind: 'refused', error: new CommandError(sentence, RUN_FAILED) };
}

/** Which scopes were requested, and where a person changes that. */
export function scopeAdvice({
  crm,
  configuration,
}: {
  crm: Pick<Expected['crm'], 'scopes'>;
  configuration: string;
}): string {
  const updates = crm.scopes.includes(UPDATE_SCOPE) ? ` ("customerUpdates": true adds ${UPDATE_SCOPE})` : '';
  return `These scopes were requested: ${crm.scopes.join(' ')}. Change crm.scopes in ${configuration}${updates}.`;
}

/** Compares in constant time, so that the time of an answer tells nothing of the expected text. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/**
 * Tells whether the issuer is the address of the endpoints, or one above it on the same host: no more of it is known.
 */
function isIssuerOf(issuer: string, authUrl: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const its = new URL(issuer);
  const ours = new URL(authUrl);
  const path = (url: URL) => `${url.pathname.replace(/\/+$/, '')}/`;
  return its.origin === ours.origin && path(ours).startsWith(path(its)) && !its.search && !its.hash;
}
