import { setTimeout as sleep } from 'node:timers/promises';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { type AccessTokenDeps, accessTokenDeps } from '../../core/oauth/access-token.ts';
import type { Target } from '../support/target.ts';

interface GrantOptions {
  crm: OAuthSettings;
  now: () => Date;
  authorizeCommand: string;
}

/** What a command needs to refresh the stored grant as a run does. */
export function grantDeps({ secrets, dynamo, ...target }: Target, options: GrantOptions): AccessTokenDeps {
  const { ClientSecretId: clientSecretId, TokensSecretId: tokensSecretId, LedgerTableName: ledgerTable } = target;
  return accessTokenDeps(
    { clientSecretId, tokensSecretId, ledgerTable },
    {
      ...{ ...options, secrets, dynamo, count: () => undefined },
      sleep: (ms) => sleep(ms),
      random: Math.random,
      secondsLeft: () => Number.POSITIVE_INFINITY,
    },
  );
}
