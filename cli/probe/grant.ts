import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from '../../core/config/deployment.ts';
import { createGetAccessToken } from '../../core/oauth/access-token.ts';
import { accessTokenDeps } from '../../core/oauth/compose.ts';
import { type GrantStore, newestOf } from '../../core/oauth/grant-store.ts';
import type { NewTokens, Tokens } from '../../core/oauth/secrets.ts';
import { ODD_LIFE } from '../../core/oauth/token-endpoint.ts';
import { isUntried, tokenFreshness } from '../../core/oauth/token-freshness.ts';
import { type AuthorizeOptions, newGrant } from '../authorize/authorize.ts';
import { watchClock } from '../authorize/aws-clock.ts';
import { chooseClient } from '../authorize/oauth-client-choice.ts';
import { commandFor } from '../support/command-options.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import type { Ended } from './conversation/converse.ts';
import type { SeenGrant } from './conversation/exchange.ts';

/** A token, or why there is none, and what is seen of it. */
export type Granted = { grant: SeenGrant } & ({ accessToken: string } | { refused: Ended });

/**
 * The stored token of a deployment. One that is due is refreshed as by a run, and stored; no other is, nor one that a function
 * is to refresh first.
 * @throws RunError of the grant, such as `ReauthorizationRequired`; CommandError
 */
export async function storedGrant(target: Target, crm: Deployment['crm'], place: TargetOptions): Promise<Granted> {
  const { now } = watchClock(target.secrets);
  const places = {
    clientSecretId: target.ClientSecretId,
    tokensSecretId: target.TokensSecretId,
    ledgerTable: target.LedgerTableName,
  };
  let refreshed = false;
  const deps = accessTokenDeps(places, {
    ...{ crm, now, sleep: (ms: number) => sleep(ms), random: Math.random },
    ...{ secrets: target.secrets, dynamo: target.dynamo },
    secondsLeft: () => Number.POSITIVE_INFINITY,
    count: (event) => {
      refreshed ||= event === 'TokenRefreshes';
    },
    authorizeCommand: commandFor('authorize', place),
  });
  const { accessToken } = (await untried(deps.store, now(), place)) ?? (await createGetAccessToken(deps)());
  const { newest } = await newestOf(deps.store);
  const from = refreshed ? 'refreshed' : 'stored';
  return { accessToken, grant: seenGrant(newest.tokens, crm, { from, now: now() }) };
}

/** The tokens of a grant that no function has refreshed yet. @throws CommandError where its access token has ended */
async function untried(store: GrantStore, now: Date, place: TargetOptions): Promise<Tokens | undefined> {
  const { tokens } = (await newestOf(store)).newest;
  if (!isUntried(tokens)) return undefined;
  if (tokenFreshness(tokens, undefined, now) !== 'stale') return tokens;
  const what = `The access token has ended (${tokens.expiresAt}), and no function has refreshed the grant yet`;
  const run = commandFor('start leads --wait', place);
  throw new CommandError(`${what}. Nothing was asked of the CRM. Start a run, which refreshes it: ${run}`, RUN_FAILED);
}

/**
 * A grant that a person consents to now. It is kept in memory, stored nowhere and never refreshed.
 * @throws CommandError
 */
export async function consentedGrant(crm: Deployment['crm'], options: Omit<AuthorizeOptions, 'crm'>): Promise<Granted> {
  if (options.clientId === undefined) {
    throw new CommandError('Without a deployment there is no stored client: name it with --client-id.', USAGE);
  }
  const client = await chooseClient(undefined, '', { ...options, crm });
  const now = () => new Date();
  try {
    const { tokens, oddities } = await newGrant(client, { now }, { ...options, crm });
    const grant = seenGrant(tokens, crm, { from: 'exchanged', now: now() });
    return { accessToken: tokens.accessToken, grant: { ...grant, oddLife: oddities.includes(ODD_LIFE) } };
  } catch (error) {
    if (!(error instanceof CommandError) || !error.message.includes(': invalid_client')) throw error;
    const nothing = { obtainedAt: now().toISOString(), expiresAt: null, scope: '' };
    const grant = seenGrant(nothing, crm, { from: 'exchanged', now: now() });
    return {
      grant: {
        ...grant,
        clientRefused: `The token endpoint does not accept the client by "${crm.clientAuthentication}", or its secret is another.`,
      },
      refused: { sentence: error.message, code: error.exitCode },
    };
  }
}

function seenGrant(
  { obtainedAt, expiresAt, scope }: Pick<NewTokens, 'obtainedAt' | 'expiresAt' | 'scope'>,
  { clientAuthentication }: Deployment['crm'],
  { from, now }: { from: SeenGrant['from']; now: Date },
): SeenGrant {
  const seconds = (to: number) => Math.round((to - Date.parse(obtainedAt)) / 1000);
  return {
    ...{ from, clientAuthentication, clientRefused: null, scope, oddLife: false },
    lifeSeconds: expiresAt === null ? null : seconds(Date.parse(expiresAt)),
    ageSeconds: seconds(now.getTime()),
  };
}
