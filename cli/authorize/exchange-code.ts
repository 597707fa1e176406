import type { OAuthSettings } from '../../core/config/deployment.ts';
import type { NewTokens } from '../../core/oauth/secrets.ts';
import { callTokenEndpoint, type Grant } from '../../core/oauth/token-endpoint.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { scopeAdvice } from './authorization-answer.ts';
import type { ChosenClient } from './oauth-client-choice.ts';

interface Exchange {
  crm: OAuthSettings;
  configuration: string;
  /** The clock by which the tokens are dated. */
  now: () => Date;
}

const TIMEOUT_MS = 30_000;
/** Tokens that live shorter than this are renewed so often that the secret runs out of versions. */
const SHORT_LIFE_MS = 20 * 60_000;

/**
 * Exchanges the code, once: a second try may make the CRM revoke what the first one gave.
 * @throws CommandError that says what to change; nothing was stored then
 */
export async function exchangeCode(
  client: Omit<ChosenClient, 'stored'>,
  grant: Grant & { grant_type: 'authorization_code' },
  exchange: Exchange,
): Promise<{ tokens: NewTokens; notes: string[]; oddities: string[] }> {
  const { crm, now } = exchange;
  const scope = crm.scopes.join(' ');
  const answer = await callTokenEndpoint({ crm, client, grant, scope, timeoutMs: TIMEOUT_MS, now });
  if (answer.kind !== 'granted') throw refused(answer.message, client, exchange);
  const { refreshToken, ...rest } = answer.tokens;
  if (!refreshToken) {
    throw new CommandError(
      `The CRM gave no refresh token, without which no night works; many services give one for the scope "offline_access" only. ${scopeAdvice(exchange)} Nothing was stored.`,
      RUN_FAILED,
    );
  }
  const tokens = { ...rest, refreshToken };
  const { oddities } = answer;
  return { tokens, notes: notesOn(tokens, oddities, crm.scopes), oddities };
}

function refused(message: string, { from }: Pick<ChosenClient, 'from'>, exchange: Exchange): CommandError {
  const error = /: (invalid_client|invalid_scope)/.exec(message)?.[1];
  if (!error) {
    return new CommandError(`${message} Nothing was stored; authorize again, for a code works once.`, RUN_FAILED);
  }
  const advice = error === 'invalid_client' ? clientAdvice(from, exchange) : scopeAdvice(exchange);
  return new CommandError(`${message} ${advice} Nothing was stored.`, USAGE);
}

const OTHERS = {
  basic: '"basic_raw" or "post"',
  basic_raw: '"basic" or "post"',
  post: '"basic" or "basic_raw"',
  none: '"basic" or "post", if the client has a secret',
} satisfies Record<OAuthSettings['clientAuthentication'], string>;

const ANOTHER_SECRET = {
  stored:
    'The stored secret of the client was used: give another in CRM_CLIENT_SECRET, or add --new-secret to be asked for it.',
  CRM_CLIENT_SECRET:
    'The secret of the client came from CRM_CLIENT_SECRET: give another there, or unset it and add --new-secret to be asked for it.',
  typed: 'The secret of the client was typed: type another, or give it in CRM_CLIENT_SECRET.',
} satisfies Record<ChosenClient['from'], string>;

/** What to try when the CRM does not know the client. Never tried by itself: a service may lock the client. */
function clientAdvice(
  from: ChosenClient['from'],
  { crm: { clientAuthentication: how }, configuration }: Exchange,
): string {
  return `${ANOTHER_SECRET[from]} If its id (--client-id) and its secret are right, set crm.clientAuthentication to ${OTHERS[how]} in ${configuration} (it is "${how}").`;
}

function notesOn({ expiresAt, obtainedAt, scope }: NewTokens, oddities: string[], requested: string[]): string[] {
  const life = expiresAt === null ? undefined : Date.parse(expiresAt) - Date.parse(obtainedAt);
  const given = new Set(scope.split(' '));
  const withheld = requested.filter((name) => !given.has(name));
  return [
    oddities.length > 0 ? `The token endpoint answers oddly: ${oddities.join(', ')}.` : '',
    withheld.length > 0 ? `The CRM did not give all scopes: ${withheld.join(', ')} is lacking.` : '',
    life !== undefined && life < SHORT_LIFE_MS
      ? `An access token lives ${Math.round(life / 60_000)} minutes only: ask the operator of the CRM for 20 or more.`
      : '',
  ].filter(Boolean);
}
