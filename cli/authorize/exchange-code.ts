import type { OAuthSettings } from '../../core/config/deployment.ts';
import type { OAuthClient, Tokens } from '../../core/oauth/secrets.ts';
import { callTokenEndpoint, type Grant } from '../../core/oauth/token-endpoint.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { clientAdvice, scopeAdvice } from './authorize-advice.ts';

interface Around {
  crm: OAuthSettings;
  configuration: string;
}

interface Exchange extends Around {
  /** What the times of the tokens are told by. */
  now: () => Date;
}

/** A grant that can be kept, and what a person should know about it. */
export interface Exchanged {
  tokens: Tokens;
  notes: string[];
}

const TIMEOUT_MS = 30_000;
/** Tokens that live shorter than this are renewed so often that the secret runs out of versions. */
const SHORT_LIFE_MS = 20 * 60_000;

/**
 * Exchanges the code, once: a second try with it may make the service revoke what the first one gave.
 * @throws CommandError that says what to change; nothing was stored then
 */
export async function exchangeCode(
  client: OAuthClient,
  grant: Grant & { grant_type: 'authorization_code' },
  { crm, configuration, now }: Exchange,
): Promise<Exchanged> {
  const scope = crm.scopes.join(' ');
  const answer = await callTokenEndpoint({ crm, client, grant, scope, timeoutMs: TIMEOUT_MS, now });
  if (answer.kind !== 'granted') throw refused(answer.message, { crm, configuration });
  const { refreshToken, ...rest } = answer.tokens;
  if (!refreshToken) {
    throw new CommandError(
      `The service gave no refresh token, without which no night works; many services give one for the scope "offline_access" only. ${scopeAdvice({ crm, configuration })} Nothing was stored.`,
      RUN_FAILED,
    );
  }
  const tokens = { ...rest, refreshToken };
  return { tokens, notes: notesOn(tokens, answer.oddities, crm.scopes) };
}

function refused(said: string, { crm, configuration }: Around): CommandError {
  if (/: invalid_client/.test(said)) {
    return new CommandError(
      `${said} ${clientAdvice(crm.clientAuthentication, configuration)} Nothing was stored.`,
      USAGE,
    );
  }
  if (/: invalid_scope/.test(said)) {
    return new CommandError(`${said} ${scopeAdvice({ crm, configuration })} Nothing was stored.`, USAGE);
  }
  return new CommandError(`${said} Nothing was stored; authorize again, for a code works once.`, RUN_FAILED);
}

function notesOn({ expiresAt, obtainedAt, scope }: Tokens, oddities: string[], requested: string[]): string[] {
  const life = expiresAt === null ? undefined : Date.parse(expiresAt) - Date.parse(obtainedAt);
  const given = new Set(scope.split(' '));
  const withheld = requested.filter((name) => !given.has(name));
  return [
    oddities.length > 0 ? `The token endpoint answers oddly: ${oddities.join(', ')}.` : '',
    withheld.length > 0 ? `The service did not give all scopes: ${withheld.join(', ')} is lacking.` : '',
    life !== undefined && life < SHORT_LIFE_MS
      ? `An access token lives ${Math.round(life / 60_000)} minutes only: ask the service for 20 or more.`
      : '',
  ].filter(Boolean);
}
