import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { LEASE_LIMITS } from '../aws/aws-limits.ts';
import type { OAuthSettings } from '../config/deployment.ts';
import { RunError } from '../errors.ts';
import {
  createGrantStore,
  grantFreshness,
  successorOf,
  type TokenFreshness,
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
  /**
   * After a failure: until when the secret is not read, and until when the grant is not refreshed. Without an error,
   * another function is refreshing.
   */
  pause?: { readAt: number; refreshAt: number; error: RunError | undefined };
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
  /**
   * The refresh of this invocation. A refresh from an earlier invocation is not joined: it measures its time by that
   * invocation.
   */
  let running: { rejected: string | undefined; result: Promise<TokenSet> } | undefined;
  const shared = async (rejected: string | undefined): Promise<TokenSet> => {
    // A refresh that began before the refusal may return the refused token: wait for it, do not join it.
    while (running && rejected !== undefined && running.rejected !== rejected) {
      await running.result.catch(() => undefined);
    }
    const result = running?.result ?? obtain(rejected, cache, deps);
    running ??= { rejected, result };
    return result.finally(() => {
      running = undefined;
    });
  };
  /** The cached token, if it may be used without a look at the secret. @throws the error of a pause */
  const cached = (rejected: string | undefined): TokenSet | undefined => {
    const { tokenSet, pause } = cache;
    const freshness = tokenSet ? grantFreshness(tokenSet.tokens, rejected, deps) : 'stale';
    if (freshness === 'fresh') return tokenSet;
    if (!pause || deps.now().getTime() >= pause.readAt) return undefined;
    if (freshness === 'stale' && pause.error) throw pause.error;
    return freshness === 'ageing' ? tokenSet : undefined;
  };
  const findToken = async (rejected: string | undefined): Promise<TokenSet> => {
    const { tokenSet } = cache;
    const orCached = orAgeing(tokenSet, rejected, undefined, deps);
    cache.tokenSet = await shared(rejected).catch(orCached);
    return cache.tokenSet;
  };
  return async ({ rejected, reread } = {}) => {
    const isReread = reread !== undefined && reread === cache.tokenSet?.tokens.accessToken;
    const { accessToken, scope } = ((!isReread && cached(rejected)) || (await findToken(rejected))).tokens;
    return { accessToken, scope };
  };
}

const LEAST_PAUSE_MS = 30_000;

/** Begins a pause, for as long as the CRM requests. A pause of refreshes that still lasts keeps its error. */
function pauseFor(error: RunError | undefined, cache: TokenCache, deps: AccessTokenDeps): void {
  const now = deps.now().getTime();
  const readAt = now + LEAST_PAUSE_MS;
  const refreshAt = error ? now + Math.max(LEAST_PAUSE_MS, (error.retryAfterSeconds ?? 0) * 1000) : now;
  const { pause } = cache;
  cache.pause = pause && pause.refreshAt > now ? { ...pause, readAt } : { readAt, refreshAt, error };
}

async function obtain(rejected: string | undefined, cache: TokenCache, deps: AccessTokenDeps): Promise<TokenSet> {
  const owner = randomUUID();
  const giveUpAt = deps.now().getTime() + PATIENCE_MS;
  for (;;) {
    const labelled = await deps.store.current().catch((error: unknown) => {
      if (error instanceof RunError && error.transient) pauseFor(error, cache, deps);
      throw error;
    });
    const tokenSet = await newest(labelled, rejected, deps).catch(orAgeing(labelled, rejected, cache, deps));
    const freshness = grantFreshness(tokenSet.tokens, rejected, deps);
    if (freshness === 'fresh') return tokenSet;
    const result = await attempt(tokenSet, freshness, owner, cache, deps).catch(
      orAgeing(tokenSet, rejected, cache, deps),
    );
    if ('tokens' in result) return result;
    if (freshness === 'ageing') {
      pauseFor(undefined, cache, deps);
      return tokenSet;
    }
    await waitForHolder(tokenSet, result, giveUpAt, cache, deps);
  }
}

/** Handles an error while an access token is ageing: the token is used. A dead grant is always an error. */
function orAgeing(
  tokenSet: TokenSet | undefined,
  rejected: string | undefined,
  cache: TokenCache | undefined,
  deps: AccessTokenDeps,
): (error: unknown) => TokenSet {
  return (error) => {
    if (!(error instanceof RunError) || error.name === 'ReauthorizationRequired') throw error;
    const isUsable = tokenSet !== undefined && grantFreshness(tokenSet.tokens, rejected, deps) !== 'stale';
    // After `TokenRefreshInProgress` the next call may read the secret at once: this call only waited, or had no time.
    const ofPause = error.name === 'TokenRefreshInProgress' ? undefined : error;
    if (cache && (ofPause || isUsable)) pauseFor(ofPause, cache, deps);
    if (!isUsable) throw error;
    return tokenSet;
  };
}

/** The label AWSCURRENT may be late, but a stored successor proves that a newer token set exists. */
async function newest(first: TokenSet, rejected: string | undefined, deps: AccessTokenDeps): Promise<TokenSet> {
  let tokenSet = first;
  while (grantFreshness(tokenSet.tokens, rejected, deps) !== 'fresh') {
    const successor = await deps.store.version(successorOf(tokenSet.versionId));
    if (!successor) return tokenSet;
    tokenSet = successor;
  }
  return tokenSet;
}

/** Refreshes a token set. Its token is presented only under a claim. @returns the claim of another holder, if any */
async function attempt(
  tokenSet: TokenSet,
  freshness: TokenFreshness,
  owner: string,
  { pause }: TokenCache,
  deps: AccessTokenDeps,
): Promise<TokenSet | LedgerItem> {
  const now = deps.now();
  const isPaused = pause !== undefined && now.getTime() < pause.refreshAt;
  const refusal = isPaused ? pause.error : versionsExhausted(tokenSet.tokens, now);
  if (refusal) throw refusal;
  const answer = await deps.ledger.claim(tokenSet.versionId, owner, now.getTime());
  return answer.won ? refreshTokenSet(tokenSet, freshness, answer.claim, deps) : answer.item;
}

/** Waits a moment for the holder of a claim. @throws RunError if the refresh failed, or is not tried soon */
async function waitForHolder(
  { versionId }: TokenSet,
  item: LedgerItem,
  giveUpAt: number,
  cache: TokenCache,
  deps: AccessTokenDeps,
): Promise<void> {
  const left = item.deadline - deps.now().getTime();
  const isLong = item.state === 'CLAIMED' && left > PATIENCE_MS;
  if (item.state === 'DEAD' || (isLong && item.refusals >= MOST_REFUSALS)) throw reauthorization(versionId, item, deps);
  if (isLong) throw leftAlone(item, cache, deps);
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
  const refreshing = 'Another function is refreshing the grant.';
  const stored = 'The refresh token is used up, and its successor is not visible yet.';
  throw new RunError('TokenRefreshInProgress', isStored ? stored : refreshing);
}

/** The error while no function presents the token. A Wait state is cheaper than a waiting function. */
function leftAlone({ deadline, unansweredSince }: LedgerItem, cache: TokenCache, deps: AccessTokenDeps): RunError {
  countUnanswered(unansweredSince, deps);
  const since = unansweredSince ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  const what = `No refresh of the grant got a usable answer${since}; the next is tried after`;
  const error = new RunError('TokenRefreshInProgress', `${what} ${new Date(deadline).toISOString()}.`);
  pauseFor(error, cache, deps);
  return error;
}

/** Where the grant of a deployment is stored. */
export interface TokenPlaces {
  clientSecretId: string;
  tokensSecretId: string;
  ledgerTable: string;
}

interface FunctionDeps
  extends Omit<AccessTokenDeps, 'store' | 'ledger' | 'readClient' | 'callTokenEndpoint' | 'secretId'> {
  crm: OAuthSettings;
  /** AWS clients; by default with the credentials of the environment. */
  secrets?: SecretsManagerClient;
  dynamo?: DynamoDBClient;
}

/** The dependencies of `createGetAccessToken` in production: secrets, ledger and token endpoint of one deployment. */
export function accessTokenDeps(places: TokenPlaces, around: FunctionDeps): AccessTokenDeps {
  const {
    crm,
    secrets = new SecretsManagerClient(LEASE_LIMITS),
    dynamo = new DynamoDBClient(LEASE_LIMITS),
    ...rest
  } = around;
  return {
    ...rest,
    store: createGrantStore(secrets, places.tokensSecretId),
    ledger: createLedger(dynamo, places.ledgerTable, places.tokensSecretId),
    readClient: () => readOAuthClient(secrets, places.clientSecretId),
    callTokenEndpoint: (client, { refreshToken, scope }, timeoutMs) => {
      const grant = { grant_type: 'refresh_token' as const, refresh_token: refreshToken };
      return callTokenEndpoint({ crm, client, grant, scope, timeoutMs, now: rest.now });
    },
    secretId: places.tokensSecretId,
  };
}
