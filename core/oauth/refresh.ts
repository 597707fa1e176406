import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { OAuthSettings } from '../config/deployment.ts';
import { RunError } from '../errors.ts';
import {
  createGrantStore,
  newestTokenSet,
  obtainedLately,
  successorOf,
  type TokenFreshness,
  type TokenSet,
} from './grant.ts';
import { CLAIM_RETURNED, type Claim, createLedger, isDead, type LedgerItem } from './ledger.ts';
import { type OAuthClient, readOAuthClient, type Tokens } from './secrets.ts';
import { MEANINGS, outweighs } from './token-answers.ts';
import { callTokenEndpoint, type Refusal, type TokenAnswer } from './token-endpoint.ts';

interface Deployed {
  tokensSecretId: string;
  clientSecretId: string;
  ledgerTable: string;
  crm: OAuthSettings;
  secrets: SecretsManagerClient;
  dynamo: DynamoDBClient;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  random: () => number;
  secondsLeft: () => number;
  /** Counts an event, for an alarm. */
  count: (event: 'TokenRefreshes' | 'GrantRotatedButNotStored' | 'TokenEndpointUnanswered') => void;
  /** Whether a function refreshes; otherwise a person's command does. */
  inFunction?: boolean;
  /** The command to authorize again, for messages. */
  authorizeCommand: string;
}

export type AccessTokenDeps = ReturnType<typeof accessTokenDeps>;

/** The dependencies of `createGetAccessToken`: secrets, ledger and token endpoint of one deployment. */
export function accessTokenDeps(deployed: Deployed) {
  const { tokensSecretId, clientSecretId, ledgerTable, crm, secrets, dynamo, now } = deployed;
  return {
    ...deployed,
    store: createGrantStore(secrets, tokensSecretId),
    ledger: createLedger(dynamo, ledgerTable, tokensSecretId),
    readClient: () => readOAuthClient(secrets, clientSecretId),
    callTokenEndpoint: (client: OAuthClient, { refreshToken, scope }: Tokens, timeoutMs: number) => {
      const grant = { grant_type: 'refresh_token' as const, refresh_token: refreshToken };
      return callTokenEndpoint({ crm, client, grant, scope, timeoutMs, now });
    },
  };
}

/** The time limit is long: a late answer may contain a rotated token, which would be lost. */
const TIMEOUT_MS = 20_000;
/** The least time for the one retry after a lost answer: some servers accept a spent token for a grace period. */
const LEAST_FOR_RETRY_MS = 10_000;
/** The least time left in an invocation for starting a refresh. A claim lasts 45 seconds. */
export const SECONDS_NEEDED = 55;
/** Attempts to store a token set end this long before the claim. */
const STORE_MARGIN_MS = 2_000;
/** The end of a claim that is reserved for storing the token set. */
const STORE_BUDGET_MS = 10_000;

/**
 * Spends a token set under its claim, and stores the successor before anyone uses it.
 * @throws RunError `ReauthorizationRequired`, `TokenRefreshInProgress`, `CrmUnavailable`, `RateLimited`,
 *   `ConfigInvalid`, `TokenStoreUnavailable`
 */
export async function refreshTokenSet(
  tokenSet: TokenSet,
  freshness: TokenFreshness,
  claim: Claim,
  deps: AccessTokenDeps,
): Promise<TokenSet> {
  const { versionId, tokens } = tokenSet;
  // An error here is ignored: the claim also ends at its deadline, and functions look for a successor before they
  // claim.
  const end = (changes: Partial<LedgerItem>) => deps.ledger.end(claim, changes).catch(() => undefined);
  let client: OAuthClient;
  try {
    // There is a successor already if a function died after storing it, or if the ledger lost its item.
    const successor = await deps.store.version(successorOf(versionId));
    if (successor) {
      await end({ state: 'STORED' });
      return successor;
    }
    client = await clientFor(tokens, deps);
    if (requestTime(claim, deps) < TIMEOUT_MS)
      throw inProgress('Preparing the request took too long, so it was not sent.');
  } catch (error) {
    await end(CLAIM_RETURNED);
    throw error;
  }
  const answer = await present(tokens, client, claim, deps);
  if (answer.kind === 'granted') {
    const next = successorWith({ ...answer.tokens, clientId: client.clientId }, tokenSet, deps);
    const isRotated = next.tokens.refreshToken !== tokens.refreshToken;
    const stored = await storeUntil(claim.deadline - STORE_MARGIN_MS, next, isRotated, deps);
    if (stored) await end({ state: 'STORED' });
    // The CRM did not rotate the refresh token, so the stored one can be used again.
    else if (!isRotated) await end(CLAIM_RETURNED);
    else {
      // Only this answer contains the valid refresh token. This run uses its access token, and no function presents the
      // old refresh token again.
      deps.count('GrantRotatedButNotStored');
      const reason = 'the CRM issued a new refresh token, but it could not be stored';
      await end(deathOf(reason, deps));
    }
    return stored ?? next;
  }
  if (answer.kind === 'invalidGrant') {
    // A token set with a stored successor is not dead.
    const newest = await newestTokenSet(deps.store);
    if (newest.versionId !== versionId) {
      await end({ state: 'STORED' });
      return newest;
    }
  }
  const { changes, error } = failureOf(answer, freshness, claim, deps);
  await end(changes);
  throw error;
}

/** The client of the secret, which must be the one that received the grant. @throws RunError `ConfigInvalid` */
async function clientFor(tokens: Tokens, deps: AccessTokenDeps): Promise<OAuthClient> {
  const client = await deps.readClient();
  if (tokens.clientId === undefined || tokens.clientId === client.clientId) return client;
  const what = `The grant belongs to a different client than the one in the secret, so it was not used. To authorize again: ${deps.authorizeCommand}.`;
  throw new RunError('ConfigInvalid', what);
}

/** The error if the grant was not refreshed yet. The workflow waits and tries again. */
export function inProgress(why: string): RunError {
  return new RunError('TokenRefreshInProgress', `The grant has to be refreshed. ${why}`);
}

/** Milliseconds left for requests under this claim. After the claim, another function may present the token. */
function requestTime({ deadline }: Claim, { now }: AccessTokenDeps): number {
  return deadline - STORE_BUDGET_MS - now().getTime();
}

/**
 * Presents the refresh token. Repeats the request once if the answer was lost, because the token may be spent already,
 * and once after the first refusal with an unrecognised error code, because it may be temporary.
 */
async function present(tokens: Tokens, client: OAuthClient, claim: Claim, deps: AccessTokenDeps): Promise<TokenAnswer> {
  const answer = await deps.callTokenEndpoint(client, tokens, TIMEOUT_MS);
  const isLost = claim.unanswered > 0 && MEANINGS[answer.kind].provesNothing;
  const first = answer.kind !== 'granted' && isLost ? { ...answer, kind: 'lost' as const } : answer;
  const isRepeated = first.kind === 'lost' || (first.kind === 'unclear' && claim.refusals === 0);
  const timeoutMs = Math.min(TIMEOUT_MS, requestTime(claim, deps));
  // A refusal spends no token. The next claim can repeat the request if this one has less than the full time limit.
  if (!isRepeated || timeoutMs < (answer.kind === 'lost' ? LEAST_FOR_RETRY_MS : TIMEOUT_MS)) return first;
  const second = await deps.callTokenEndpoint(client, tokens, timeoutMs);
  return outweighs(second.kind, first.kind) ? second : first;
}

const MINUTE_MS = 60_000;
/** How many claims in all present a token that is refused with an unrecognised error code. */
export const MOST_REFUSALS = 3;

/** What the ledger records about a failed refresh, and the error of the run. */
function failureOf(
  { kind, message, status, code, retryAfterSeconds }: Refusal,
  freshness: TokenFreshness,
  claim: Claim,
  deps: AccessTokenDeps,
): { changes: Partial<LedgerItem>; error: RunError } {
  const now = deps.now().getTime();
  if (kind === 'invalidGrant') {
    const death = deathOf(message, deps);
    return { changes: death, error: reauthorization({ ...claim, ...death }, deps) };
  }
  const { error: name, heldMinutes: held } = MEANINGS[kind];
  if (!held) {
    const newSecret = ` If the client secret has changed: ${deps.authorizeCommand} --new-secret.`;
    const text = code === 'invalid_client' ? `${message}${newSecret}` : message;
    return { changes: CLAIM_RETURNED, error: new RunError(name, text, { status, retryAfterSeconds }) };
  }
  const isLost = kind === 'lost';
  const times = 1 + (isLost ? claim.unanswered : claim.refusals);
  const unansweredSince = claim.unansweredSince || now;
  const minutes = held[Math.min(times, held.length) - 1] ?? 0;
  const deadline = Math.max(claim.deadline, now + minutes * MINUTE_MS);
  const counted = isLost ? { unanswered: times, unansweredSince } : { refusals: times };
  const changes = { deadline, reason: message, ...counted };
  // While the access token is still valid, the run uses it.
  if (!isLost && times >= MOST_REFUSALS && freshness === 'stale')
    return { changes, error: reauthorization({ ...claim, ...changes }, deps) };
  const text = `${message} The next attempt is after ${new Date(deadline).toISOString()}.`;
  return { changes, error: new RunError(name, text, { status }) };
}

/** The ledger entry of a dead token set. Its claim ends at once, because only a command can claim a dead token set. */
function deathOf(reason: string, { now }: AccessTokenDeps) {
  return { ...CLAIM_RETURNED, state: 'DEAD' as const, reason, diedAt: now().toISOString() };
}

/**
 * Returns while the holder of a claim may still store a successor.
 * @throws RunError `ReauthorizationRequired`, or `TokenRefreshInProgress` if the wait is long: then the workflow waits in
 *   a Wait state, which costs less than a waiting function
 */
export async function checkHolder(item: Claim, patienceMs: number, deps: AccessTokenDeps): Promise<void> {
  const { versionId, deadline, unansweredSince } = item;
  const left = deadline - deps.now().getTime();
  const isStored = item.state === 'STORED';
  // A stored successor is readable within a minute. Otherwise it counts as lost.
  if ((isDead(item) || (isStored && left < -patienceMs)) && !(await deps.store.version(successorOf(versionId)))) {
    const reason = 'its refresh token has been spent, and the next token set is not in the secret';
    throw reauthorization(isStored ? { ...item, reason } : item, deps);
  }
  if (isStored || left <= patienceMs) return;
  if (item.refusals >= MOST_REFUSALS) throw reauthorization(item, deps);
  // If the token endpoint has given no usable answer for four hours, an alarm is raised.
  const silence = unansweredSince && deps.now().getTime() - unansweredSince;
  if (silence >= 240 * MINUTE_MS) deps.count('TokenEndpointUnanswered');
  const since = unansweredSince ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  const what = `No refresh of the grant got a usable answer${since}. ${item.reason} The next attempt is after`;
  throw new RunError('TokenRefreshInProgress', `${what} ${new Date(deadline).toISOString()}.`);
}

function reauthorization({ versionId, reason, diedAt, refusals, state }: Claim, deps: AccessTokenDeps): RunError {
  const isRefused = state === 'CLAIMED' && !diedAt;
  const how = isRefused ? `was refused in ${refusals} refreshes` : diedAt ? `has been dead since ${diedAt}` : 'is dead';
  const why = /[.!?]$/.test(reason) ? reason : `${reason}.`;
  const what = `The grant in the secret ${deps.tokensSecretId} (token set ${versionId}) ${how}: ${why}`;
  return new RunError('ReauthorizationRequired', what);
}

function successorWith(
  answered: (TokenAnswer & { kind: 'granted' })['tokens'] & Pick<Tokens, 'clientId'>,
  { versionId, tokens }: TokenSet,
  { now, inFunction }: AccessTokenDeps,
): TokenSet {
  const refreshToken = answered.refreshToken ?? tokens.refreshToken;
  const { authorization } = tokens;
  // A refresh by a command does not prove that the functions have their permissions, so the grant stays untried.
  const functionStoredAt = inFunction ? now().toISOString() : tokens.functionStoredAt;
  const earlierObtainedAt = obtainedLately(tokens, now());
  // Earlier releases did not store some of these values. They are `undefined`, and JSON omits them.
  const next = { ...answered, refreshToken, authorization, functionStoredAt, earlierObtainedAt };
  return { versionId: successorOf(versionId), tokens: next };
}

/**
 * Stores the successor of a spent token set. If the grant would be lost otherwise, a refused write is repeated, because
 * new permissions may take effect seconds after a deployment.
 * @returns the stored successor; `undefined` if it could not be stored
 */
async function storeUntil(
  end: number,
  next: TokenSet,
  isRotated: boolean,
  { store, now, sleep, count }: AccessTokenDeps,
): Promise<TokenSet | undefined> {
  for (let wait = 250; ; wait *= 2) {
    try {
      // Every attempt ends in time, too.
      const limit = AbortSignal.timeout(Math.max(1, end - now().getTime()));
      if (!(await store.store(next.versionId, next.tokens, limit))) return await store.version(next.versionId);
      count('TokenRefreshes');
      return next;
    } catch (error) {
      if (!(error instanceof RunError) || !(error.transient || isRotated)) return undefined;
      if (now().getTime() + wait > end) return undefined;
      await sleep(wait);
    }
  }
}
