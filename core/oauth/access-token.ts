import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { LEASE_LIMITS } from '../aws/aws-limits.ts';
import type { OAuthSettings } from '../config/deployment.ts';
import { RunError } from '../errors.ts';
import {
  createGrantStore,
  type Generation,
  grantFreshness,
  successorOf,
  type TokenFreshness,
  versionsExhausted,
} from './grant.ts';
import { type ClaimAnswer, createLedger, type LedgerItem } from './ledger.ts';
import {
  countUnanswered,
  MOST_REFUSALS,
  reauthorization,
  refusedForGood,
  SECONDS_NEEDED,
  type SpendDeps,
  spend,
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

export interface AccessTokenDeps extends SpendDeps {
  random: () => number;
}

/** State that the invocations of one container share. */
export interface TokenCache {
  generation?: Generation | undefined;
  pause: RefreshPause;
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
export function createGetAccessToken(
  deps: AccessTokenDeps,
  cache: TokenCache = { pause: new RefreshPause() },
): GetAccessToken {
  const { pause } = cache;
  /**
   * The refresh of this invocation. A refresh from an earlier invocation is not joined: it measures its time by that
   * invocation.
   */
  let running: { rejected: string | undefined; result: Promise<Generation> } | undefined;
  const shared = async (rejected: string | undefined): Promise<Generation> => {
    // A refresh that began before the refusal may return the refused token: wait for it, do not join it.
    while (running && rejected !== undefined && running.rejected !== rejected) {
      await running.result.catch(() => undefined);
    }
    running ??= {
      rejected,
      result: paused(rejected, pause, deps).finally(() => {
        running = undefined;
      }),
    };
    return running.result;
  };
  /** The cached token, if it may still be used. */
  const known = (rejected: string | undefined, least: TokenFreshness): Generation | undefined => {
    const freshness = cache.generation ? grantFreshness(cache.generation.tokens, rejected, deps) : 'stale';
    return freshness === 'fresh' || freshness === least ? cache.generation : undefined;
  };
  const look = async (rejected: string | undefined): Promise<Generation> => {
    try {
      cache.generation = await shared(rejected);
      return cache.generation;
    } catch (error) {
      const alive = leavesAlive(error) && known(rejected, 'ageing');
      if (!alive) throw error;
      return alive;
    }
  };
  const give = async (rejected: string | undefined): Promise<Generation> => {
    const standing = known(rejected, pause.looksLater(deps.now()) ? 'ageing' : 'fresh');
    if (standing) return standing;
    if (pause.looksLater(deps.now()) && pause.error) throw pause.error;
    return look(rejected);
  };

  return async ({ rejected, reread } = {}) => {
    const insufficient = reread !== undefined && cache.generation?.tokens.accessToken === reread;
    const { accessToken, scope } = (await (insufficient ? look(rejected) : give(rejected))).tokens;
    return { accessToken, scope };
  };
}

async function paused(rejected: string | undefined, pause: RefreshPause, deps: AccessTokenDeps): Promise<Generation> {
  try {
    const generation = await obtain(rejected, pause, deps);
    if (grantFreshness(generation.tokens, rejected, deps) !== 'fresh') pause.begin(deps.now());
    return generation;
  } catch (error) {
    // After `TokenRefreshInProgress` the next call may read the secret at once: this call only waited, or had no time.
    if (error instanceof RunError && error.transient && error.name !== 'TokenRefreshInProgress')
      pause.begin(deps.now(), error);
    throw error;
  }
}

async function obtain(rejected: string | undefined, pause: RefreshPause, deps: AccessTokenDeps): Promise<Generation> {
  const owner = randomUUID();
  const giveUpAt = deps.now().getTime() + PATIENCE_MS;
  for (;;) {
    const generation = await newest(rejected, pause, deps);
    const freshness = grantFreshness(generation.tokens, rejected, deps);
    if (freshness === 'fresh') return generation;
    const refusal = pause.refreshesLater(deps.now()) ? pause.error : versionsExhausted(generation.tokens, deps.now());
    if (refusal && freshness === 'stale') throw refusal;
    if (refusal) return generation;
    const answer = await claim(generation, freshness, owner, deps);
    if (answer?.won) return spendOrKeep(generation, freshness, answer, pause, deps);
    if (freshness === 'ageing' || !answer) return generation;
    await refuseIfOver(generation, answer.item, deps);
    await refuseIfSpent(generation, answer.item, deps);
    await waitForHolder(answer.item, giveUpAt, pause, deps);
  }
}

/** The label AWSCURRENT may be late, but a stored successor proves that a newer generation exists. */
async function newest(rejected: string | undefined, pause: RefreshPause, deps: AccessTokenDeps): Promise<Generation> {
  const { store } = deps;
  let generation = await store.current();
  for (;;) {
    const freshness = grantFreshness(generation.tokens, rejected, deps);
    if (freshness === 'fresh') return generation;
    try {
      const successor = await store.version(successorOf(generation.versionId));
      if (!successor) return generation;
      generation = successor;
    } catch (error) {
      if (freshness === 'stale' || !(error instanceof RunError)) throw error;
      pause.begin(deps.now(), error);
      return generation;
    }
  }
}

/** The refresh token is presented only under a claim. An access token that is still valid is used meanwhile. */
async function claim(
  { versionId }: Generation,
  freshness: TokenFreshness,
  owner: string,
  { ledger, now }: AccessTokenDeps,
): Promise<ClaimAnswer | undefined> {
  try {
    return await ledger.claim(versionId, owner, now().getTime());
  } catch (error) {
    if (freshness === 'ageing' && error instanceof RunError) return undefined;
    throw error;
  }
}

/** An early refresh may fail, because the access token is still valid. A dead grant is always an error. */
async function spendOrKeep(
  generation: Generation,
  freshness: TokenFreshness,
  { claim: held }: ClaimAnswer & { won: true },
  pause: RefreshPause,
  deps: AccessTokenDeps,
): Promise<Generation> {
  try {
    return await spend(generation, freshness, held, deps);
  } catch (error) {
    if (!leavesAlive(error)) throw error;
    if (error.name !== 'TokenRefreshInProgress') pause.begin(deps.now(), error);
    if (freshness === 'ageing') return generation;
    throw error;
  }
}

/** Whether the access token can still be used after this error. */
function leavesAlive(error: unknown): error is RunError {
  return error instanceof RunError && error.name !== 'ReauthorizationRequired';
}

async function refuseIfOver({ versionId }: Generation, item: LedgerItem, deps: AccessTokenDeps): Promise<void> {
  if (item.state === 'DEAD') throw reauthorization(versionId, item, deps);
  const isHeld = item.state === 'CLAIMED' && item.deadline - deps.now().getTime() > PATIENCE_MS;
  if (isHeld && item.refusals >= MOST_REFUSALS) throw refusedForGood(versionId, item.reason, deps);
  // The command that was to replace a dead grant may have died before or after it stored the new one.
  const over = item.state === 'AUTHORIZED' && item.diedAt !== '' && item.deadline < deps.now().getTime();
  if (!over || (await deps.store.version(successorOf(versionId)))) return;
  throw reauthorization(versionId, item, deps);
}

/** A stored successor may become readable late, but within a minute after its claim ended. Later it counts as lost. */
async function refuseIfSpent({ versionId }: Generation, item: LedgerItem, deps: AccessTokenDeps): Promise<void> {
  const seenByNow = item.state === 'STORED' && deps.now().getTime() - item.deadline > PATIENCE_MS;
  if (!seenByNow || (await deps.store.version(successorOf(versionId)))) return;
  const reason = 'its refresh token is spent, and the grant that followed it is not in the secret';
  throw reauthorization(versionId, { reason, diedAt: '' }, deps);
}

async function waitForHolder(
  item: LedgerItem,
  giveUpAt: number,
  pause: RefreshPause,
  deps: AccessTokenDeps,
): Promise<void> {
  const { deadline, unansweredSince } = item;
  // A Wait state is cheaper than a waiting function.
  if (item.state === 'CLAIMED' && deadline - deps.now().getTime() > PATIENCE_MS) {
    countUnanswered(unansweredSince, deps);
    const since = unansweredSince ? ` since ${new Date(unansweredSince).toISOString()}` : '';
    const what = `No refresh of the grant got an answer that could be used${since}; the next is tried after`;
    const error = new RunError('TokenRefreshInProgress', `${what} ${new Date(deadline).toISOString()}.`);
    pause.begin(deps.now(), error);
    throw error;
  }
  if (deps.now().getTime() < giveUpAt && deps.secondsLeft() > SECONDS_NEEDED) {
    return deps.sleep(250 + 1250 * deps.random());
  }
  const refreshing = 'Another function is refreshing the grant.';
  const stored = 'The refresh token is spent, and the grant that followed it is not to be seen yet.';
  throw new RunError('TokenRefreshInProgress', item.state === 'STORED' ? stored : refreshing);
}

const LEAST_MS = 30_000;

/**
 * The pause after a failure: for a while the container does not read the secret, and it does not refresh for as long
 * as the CRM requests.
 */
export class RefreshPause {
  #error: RunError | undefined;
  #lookAt = 0;
  #refreshAt = 0;

  /** Whether it is too early to read the secret again. */
  looksLater(now: Date): boolean {
    return now.getTime() < this.#lookAt;
  }

  /** Whether it is too early to refresh again. */
  refreshesLater(now: Date): boolean {
    return now.getTime() < this.#refreshAt;
  }

  /** The error of the last refresh or read; `undefined` if another function is refreshing. */
  get error(): RunError | undefined {
    return this.#error;
  }

  /** @param error left out if another function is refreshing */
  begin(now: Date, error?: RunError): void {
    this.#lookAt = now.getTime() + LEAST_MS;
    if (this.refreshesLater(now)) return;
    this.#error = error;
    if (error) this.#refreshAt = now.getTime() + Math.max(LEAST_MS, (error.retryAfterSeconds ?? 0) * 1000);
  }
}

/** Where the grant of a deployment is stored. */
export interface TokenPlaces {
  clientSecretId: string;
  tokensSecretId: string;
  ledgerTable: string;
}

interface Around extends Omit<AccessTokenDeps, 'store' | 'ledger' | 'readClient' | 'callTokenEndpoint' | 'secretId'> {
  crm: OAuthSettings;
  /** AWS clients; by default with the credentials of the environment. */
  secrets?: SecretsManagerClient;
  dynamo?: DynamoDBClient;
}

/** The dependencies of `createGetAccessToken` in production: secrets, ledger and token endpoint of one deployment. */
export function accessTokenDeps(places: TokenPlaces, around: Around): AccessTokenDeps {
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
