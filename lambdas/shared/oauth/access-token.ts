import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Deployment } from '../deployment.ts';
import { oauthClientSchema, readSecret, type Tokens, tokensSchema, writeSecret } from './secrets.ts';
import { requestTokens } from './token-endpoint.ts';

/** A token with less life than this is not sent out: the longest single call must end before it does. */
const MARGIN_MS = 60_000;

export interface AccessToken {
  accessToken: string;
  /** Scopes that the token has, blank-separated, as the service named them. */
  scope: string;
}

/**
 * The access token for one call of the service.
 * @param options.rejected a token that the service has just refused with 401: it is not given out again.
 * @throws RunError `ConfigInvalid`, `ReauthorizationRequired`, `TokenStoreUnavailable`, `CrmUnavailable`, `RateLimited`
 */
export type GetAccessToken = (options?: { rejected?: string }) => Promise<AccessToken>;

interface TokenDeps {
  secrets: SecretsManagerClient;
  clientSecretId: string;
  tokensSecretId: string;
  crm: Deployment['crm'];
  now: () => Date;
}

/**
 * Gives out the stored access token while it lives, and refreshes it when it does not. A refreshed grant is stored before
 * its access token is used: the service may have rotated the refresh token, and the old one is then worth nothing.
 * Within one process all callers share one refresh.
 */
export function createGetAccessToken(deps: TokenDeps): GetAccessToken {
  let cached: Tokens | undefined;
  let running: Promise<Tokens> | undefined;

  const usable = (tokens: Tokens | undefined, rejected: string | undefined): tokens is Tokens =>
    tokens !== undefined &&
    tokens.accessToken !== rejected &&
    (tokens.expiresAt === null || Date.parse(tokens.expiresAt) - deps.now().getTime() > MARGIN_MS);

  const renew = async (rejected: string | undefined): Promise<Tokens> => {
    const stored = await readSecret(deps.secrets, deps.tokensSecretId, tokensSchema);
    return usable(stored, rejected) ? stored : await refresh(deps, stored);
  };

  const renewOnce = (rejected: string | undefined): Promise<Tokens> => {
    running ??= renew(rejected).finally(() => {
      running = undefined;
    });
    return running;
  };

  return async ({ rejected } = {}) => {
    if (!usable(cached, rejected)) {
      cached = await renewOnce(rejected);
      // It joined a renewal that did not know of the refusal, and got what was stored.
      if (cached.accessToken === rejected) cached = await renewOnce(rejected);
    }
    return { accessToken: cached.accessToken, scope: cached.scope };
  };
}

async function refresh(deps: TokenDeps, stored: Tokens): Promise<Tokens> {
  const client = await readSecret(deps.secrets, deps.clientSecretId, oauthClientSchema);
  const grant = { grant_type: 'refresh_token' as const, refresh_token: stored.refreshToken };
  const tokens = await requestTokens(deps.crm, client, grant, stored, deps.now);
  await writeSecret(deps.secrets, deps.tokensSecretId, tokens);
  return tokens;
}
