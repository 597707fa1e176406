import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { OAuthSettings } from '../config/deployment.ts';
import { RunError } from '../errors.ts';
import {
  createGrantStore,
  grantFreshness,
  newestTokenSet,
  successorOf,
  type TokenSet,
  versionsExhausted,
} from './grant.ts';
import { createLedger, type LedgerItem } from './ledger.ts';
import {
  countUnanswered,
  MOST_REFUSALS,
  type RefreshDeps,
  reauthorization,
  refreshTokenSet,
  SECONDS_NEEDED,
} from './refresh.ts';
import { readOAuthClient } from './secrets.ts';
import { callTokenEndpoint } from './token-endpoint.ts';

export interface AccessToken {
  accessToken: string;
  /** The scopes of the token, separated by blanks, in the CRM's spelling. */
  scope: string;
}

/**
 * Returns the access token for one call of the CRM.
 * @param options.rejected a token that was refused with 401: it is not returned again
 * @param options.reread a token that was refused with 403: the secret is read once for a newer one
 * @throws RunError `ConfigInvalid`, `ReauthorizationRequired`, `TokenRefreshInProgress`, `TokenStoreUnavailable`,
 *  `SecretVersionsExhausted`, `CrmUnavailable`, `RateLimited`
 */
export type GetAccessToken = (options?: { rejected?: string; reread?: string }) => Promise<AccessToken>;

export interface AccessTokenDeps extends RefreshDeps {
  random: () => number;
}

/** State that the invocations of one container share. */
export interface TokenCache {
  tokenSet?: TokenSet;
  /** Until when an ageing token is used without another attempt to refresh it, in milliseconds. */
  usedUntil?: number;
}

/**
 * How long a caller waits for a refresh by another function. It is longer than a claim, so that a waiter can take over
 * from a holder that died.
 */
const PATIENCE_MS = 60_000;

/**
 * Returns the stored access token while it is valid: one read of the secret per container. When it expires, exactly
 * one function refreshes it (docs/adr/0013), and all others wait.
 */
export function createGetAccessToken(deps: AccessTokenDeps, cache: TokenCache = {}): GetAccessToken {
  return async ({ rejected, reread } = {}) => {
    const { tokenSet } = cache;
    const isReread = reread !== undefined && reread === tokenSet?.tokens.accessToken;
    const isUsed = tokenSet && !isReread && mayBeUsed(tokenSet, rejected, cache, deps);
    cache.tokenSet = isUsed ? tokenSet : await findToken(rejected, cache, deps);
    const { accessToken, scope } = cache.tokenSet.tokens;
    return { accessToken, scope };
  };
}

/** Whether a token is used without an attempt to refresh it. */
function mayBeUsed(
  { tokens }: TokenSet,
  rejected: string | undefined,
  { usedUntil = 0 }: TokenCache,
  deps: AccessTokenDeps,
): boolean {
  const freshness = grantFreshness(tokens, rejected, deps);
  return freshness === 'fresh' || (freshness === 'ageing' && deps.now().getTime() < usedUntil);
}

const LEAST_PAUSE_MS = 30_000;
const REFRESHING = 'Another function is refreshing the grant.';

/** While an access token is ageing it is used, whatever prevents its refresh. A dead grant is always an error. */
async function findToken(rejected: string | undefined, cache: TokenCache, deps: AccessTokenDeps): Promise<TokenSet> {
  const found = { ...cache };
  try {
    return await obtain(rejected, found, deps);
  } catch (error) {
    const { tokenSet } = found;
    const isUsable = tokenSet && grantFreshness(tokenSet.tokens, rejected, deps) !== 'stale';
    if (!isUsable || !(error instanceof RunError) || error.name === 'ReauthorizationRequired') throw error;
    cache.usedUntil = deps.now().getTime() + Math.max(LEAST_PAUSE_MS, (error.retryAfterSeconds ?? 0) * 1000);
    return tokenSet;
  }
}

/** @param found gets each token set that is read */
async function obtain(rejected: string | undefined, found: TokenCache, deps: AccessTokenDeps): Promise<TokenSet> {
  const owner = randomUUID();
  const giveUpAt = deps.now().getTime() + PATIENCE_MS;
  const freshness = ({ tokens }: TokenSet) => grantFreshness(tokens, rejected, deps);
  for (;;) {
    const newest = await newestTokenSet(deps.store, (tokenSet) => {
      found.tokenSet = tokenSet;
      return freshness(tokenSet) === 'fresh';
    });
    if (mayBeUsed(newest, rejected, found, deps)) return newest;
    const exhausted = versionsExhausted(newest.tokens, deps.now());
    if (exhausted) throw exhausted;
    // A refresh token is presented only under a claim.
    const answer = await deps.ledger.claim(newest.versionId, owner, deps.now().getTime());
    if (answer.won) return refreshTokenSet(newest, freshness(newest), answer.claim, deps);
    if (freshness(newest) === 'ageing') throw new RunError('TokenRefreshInProgress', REFRESHING);
    await waitForHolder(newest, answer.item, giveUpAt, deps);
  }
}

/** Waits a moment for the holder of a claim. @throws RunError if the refresh failed, or is not tried soon */
async function waitForHolder(
  { versionId }: TokenSet,
  item: LedgerItem,
  giveUpAt: number,
  deps: AccessTokenDeps,
): Promise<void> {
  const left = item.deadline - deps.now().getTime();
  const isLong = item.state === 'CLAIMED' && left > PATIENCE_MS;
  if (item.state === 'DEAD' || (isLong && item.refusals >= MOST_REFUSALS)) throw reauthorization(versionId, item, deps);
  if (isLong) throw leftAlone(item, deps);
  // A command that was to replace a dead grant may have died.
  const isUnreplaced = item.state === 'AUTHORIZED' && item.diedAt !== '' && left < 0;
  // A stored successor may become readable late, but within a minute. Later it counts as lost.
  const isStored = item.state === 'STORED';
  if ((isUnreplaced || (isStored && left < -PATIENCE_MS)) && !(await deps.store.version(successorOf(versionId)))) {
    const spent = { reason: 'its refresh token is used up, and its successor is not in the secret' };
    throw reauthorization(versionId, isStored ? spent : item, deps);
  }
  if (deps.now().getTime() < giveUpAt && deps.secondsLeft() > SECONDS_NEEDED) {
    return deps.sleep(250 + 1250 * deps.random());
  }
  const stored = 'The refresh token is used up, and its successor is not visible yet.';
  throw new RunError('TokenRefreshInProgress', isStored ? stored : REFRESHING);
}

/** The error while no function presents the token. A Wait state is cheaper than a waiting function. */
function leftAlone({ deadline, unansweredSince }: LedgerItem, deps: AccessTokenDeps): RunError {
  countUnanswered(unansweredSince, deps);
  const since = unansweredSince ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  const what = `No refresh of the grant got a usable answer${since}; the next is tried after`;
  return new RunError('TokenRefreshInProgress', `${what} ${new Date(deadline).toISOString()}.`);
}

interface DeploymentDeps
  extends Omit<AccessTokenDeps, 'store' | 'ledger' | 'readClient' | 'callTokenEndpoint' | 'secretId'> {
  tokensSecretId: string;
  ledgerTable: string;
  crm: OAuthSettings;
  secrets: SecretsManagerClient;
  dynamo: DynamoDBClient;
}

/** The dependencies of `createGetAccessToken` in production: secrets, ledger and token endpoint of one deployment. */
export function accessTokenDeps({
  tokensSecretId: secretId,
  ledgerTable,
  crm,
  secrets,
  dynamo,
  ...rest
}: DeploymentDeps): AccessTokenDeps {
  return {
    ...rest,
    secretId,
    store: createGrantStore(secrets, secretId),
    ledger: createLedger(dynamo, ledgerTable, secretId),
    readClient: () => readOAuthClient(secrets, rest.clientSecretId),
    callTokenEndpoint: (client, { refreshToken, scope }, timeoutMs) => {
      const grant = { grant_type: 'refresh_token' as const, refresh_token: refreshToken };
      return callTokenEndpoint({ crm, client, grant, scope, timeoutMs, now: rest.now });
    },
  };
}
