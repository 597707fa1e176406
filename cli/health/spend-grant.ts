import { setTimeout as sleep } from 'node:timers/promises';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { type AccessTokenDeps, accessTokenDeps, createGetAccessToken } from '../../core/oauth/access-token.ts';
import { newestOf, type TokenSet } from '../../core/oauth/grant.ts';
import type { TokenAnswer } from '../../core/oauth/token-endpoint.ts';
import type { Target } from '../support/target.ts';

/** Refreshes the stored grant from a command, by the rules of the functions. */

interface GrantOptions {
  crm: OAuthSettings;
  now: () => Date;
  authorizeCommand: string;
}

/** What a command needs to refresh the stored grant as a run does. @param count called with the names of metrics */
export function grantDeps(
  target: Target,
  options: GrantOptions,
  count: AccessTokenDeps['count'] = () => undefined,
): AccessTokenDeps {
  const { secrets, dynamo } = target;
  const { ClientSecretId: clientSecretId, TokensSecretId: tokensSecretId, LedgerTableName: ledgerTable } = target;
  return accessTokenDeps(
    { clientSecretId, tokensSecretId, ledgerTable },
    {
      ...{ ...options, secrets, dynamo, count },
      sleep: (ms) => sleep(ms),
      random: Math.random,
      secondsLeft: () => Number.POSITIVE_INFINITY,
    },
  );
}

/** What one refresh showed. */
export interface Refreshed {
  before: TokenSet;
  after: TokenSet;
  /** Calls of the token endpoint; empty if another function refreshed at the same time. */
  calls: { answer: TokenAnswer; milliseconds: number }[];
  /** The CRM gave new tokens, but they could not be stored. */
  lost: boolean;
}

/** Makes one real refresh, which spends the token set. @throws RunError */
export async function refreshGrant(target: Target, before: TokenSet, options: GrantOptions): Promise<Refreshed> {
  const seen: Refreshed = { before, after: before, calls: [], lost: false };
  const deps = grantDeps(target, options, (event) => {
    seen.lost ||= event === 'GrantRotatedButNotStored';
  });
  const getAccessToken = createGetAccessToken({
    ...deps,
    callTokenEndpoint: async (...call) => {
      const started = performance.now();
      const answer = await deps.callTokenEndpoint(...call);
      seen.calls.push({ answer, milliseconds: Math.round(performance.now() - started) });
      return answer;
    },
  });
  await getAccessToken({ rejected: before.tokens.accessToken });
  return { ...seen, after: (await newestOf(deps.store)).newest };
}
