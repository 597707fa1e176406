import { RunError } from '../errors.ts';
import {
  type GrantStore,
  newestTokenSet,
  obtainedLately,
  successorOf,
  type TokenFreshness,
  type TokenSet,
} from './grant.ts';
import { CLAIM_RETURNED, type Claim, type Ledger, type LedgerItem } from './ledger.ts';
import { clientOf, type OAuthClient, type Tokens, withoutValue } from './secrets.ts';
import type { TokenAnswer } from './token-endpoint.ts';

/** Dependencies of a refresh; times in milliseconds. */
export interface RefreshDeps {
  store: GrantStore;
  ledger: Ledger;
  /** `undefined` if its secret has no value: between the two writes of a first `authorize`, only the grant has it. */
  readClient: () => Promise<OAuthClient | undefined>;
  callTokenEndpoint: (client: OAuthClient, tokens: Tokens, timeoutMs: number) => Promise<TokenAnswer>;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  secondsLeft: () => number;
  /** Counts an event, for an alarm. */
  count: (event: 'TokenRefreshes' | 'GrantRotatedButNotStored' | 'TokenEndpointUnanswered') => void;
  /** Whether a function refreshes, and not a command that a person runs. */
  inFunction?: boolean;
  /** The secrets of grant and client, and the command to authorize again, for messages. */
  secretId: string;
  clientSecretId: string;
  authorizeCommand: string;
}

/** Long, because a rotated token in a late answer would be lost. */
const FIRST_TIMEOUT_MS = 20_000;
/** The timeout of the one retry after a lost answer: some servers accept a spent token for a grace period. */
const SECOND_TIMEOUT_MS = 10_000;
/** Time for a whole refresh (claim: 45 seconds) before DownloadFile ends its invocation. */
export const SECONDS_NEEDED = 55;
/** Attempts to store the grant stop this long before the claim ends. */
const STORE_MARGIN_MS = 2_000;
/** Time for storing, reserved at the end of the claim. */
const STORE_BUDGET_MS = 10_000;

/**
 * Spends a token set under its claim, and stores the successor before it is used.
 * @throws RunError `ReauthorizationRequired`, `TokenRefreshInProgress`, `CrmUnavailable`, `RateLimited`,
 *   `ConfigInvalid`, `TokenStoreUnavailable`
 */
export async function refreshTokenSet(
  tokenSet: TokenSet,
  freshness: TokenFreshness,
  claim: Claim,
  deps: RefreshDeps,
): Promise<TokenSet> {
  const { versionId } = tokenSet;
  let client: OAuthClient;
  try {
    // A successor exists already if a holder died after storing it, or if the ledger lost the item.
    const successor = await deps.store.version(successorOf(versionId));
    if (successor) return await marked(successor, claim, deps);
    client = await prepare(tokenSet, claim, deps);
  } catch (error) {
    await ended(claim, CLAIM_RETURNED, deps);
    throw error;
  }
  const answer = await present(tokenSet, client, claim, deps);
  if (answer.kind === 'granted') return keep(tokenSet, { ...answer, client }, claim, deps);
  if (answer.kind === 'invalidGrant') {
    // The token set is dead only if it is still the newest.
    const newest = await newestTokenSet(deps.store);
    if (newest.versionId === successorOf(versionId)) return marked(newest, claim, deps);
    if (newest.versionId !== versionId) return newest;
  }
  const { changes, error } = failureOf(answer, freshness, claim, deps);
  await ended(claim, changes, deps);
  throw error;
}

async function prepare({ tokens }: TokenSet, claim: Claim, deps: RefreshDeps): Promise<OAuthClient> {
  if (deps.secondsLeft() < SECONDS_NEEDED) {
    const what = 'Too little time is left in this invocation to refresh the grant safely.';
    throw new RunError('TokenRefreshInProgress', what);
  }
  const stored = await deps.readClient();
  const client = clientOf(tokens, stored);
  if (!client) {
    if (!stored) throw withoutValue(deps.clientSecretId);
    const what = `The grant was given to a different client than the one in the secret, so it was not used. To store a client with its grant: ${deps.authorizeCommand}.`;
    throw new RunError('ConfigInvalid', what);
  }
  if (requestTime(claim, deps) < FIRST_TIMEOUT_MS) {
    throw new RunError('TokenRefreshInProgress', 'Preparing the refresh of the grant took too long.');
  }
  return client;
}

/**
 * Presents the refresh token, and repeats the request once if the answer was lost: the token may be spent already. A
 * first refusal with an unrecognised error code may be temporary, and is repeated once as well.
 */
async function present(
  { tokens }: TokenSet,
  client: OAuthClient,
  claim: Claim,
  deps: RefreshDeps,
): Promise<TokenAnswer> {
  const answer = await deps.callTokenEndpoint(client, tokens, FIRST_TIMEOUT_MS);
  // After an earlier lost answer, a refusal with an unknown code, of another service, or because of another request
  // does not prove that the token is unspent: it counts as lost.
  const isUnknown = ['unclear', 'elsewhere', 'locked'].includes(answer.kind);
  const isLost = answer.kind === 'lost' || (isUnknown && claim.unanswered > 0);
  const first: TokenAnswer = answer.kind !== 'granted' && isLost ? { ...answer, kind: 'lost' } : answer;
  const isRepeated = isLost || (first.kind === 'unclear' && claim.refusals === 0);
  if (!isRepeated || requestTime(claim, deps) < SECOND_TIMEOUT_MS) return first;
  const second = await deps.callTokenEndpoint(client, tokens, SECOND_TIMEOUT_MS);
  if (second.kind === 'granted' || second.kind === 'invalidGrant') return second;
  // After a lost answer, the first request may have been processed, regardless of the second answer.
  return first.kind === 'unclear' && ['lost', 'refused', 'elsewhere'].includes(second.kind) ? second : first;
}

/** Milliseconds left for requests under this claim. After its deadline another function may present the token. */
function requestTime({ deadline }: Claim, { now }: RefreshDeps): number {
  return deadline - STORE_BUDGET_MS - now().getTime();
}

const MINUTE_MS = 60_000;
/** The wait by number of unanswered requests with a token; after the first one, the claim alone is the wait. */
const HOLDS_MS = [0, 30 * MINUTE_MS, 60 * MINUTE_MS];
const LONGEST_HOLD_MS = 120 * MINUTE_MS;
/** The most claims that present a token which is refused with an unrecognised error code. */
export const MOST_REFUSALS = 3;
/** The time between claims after such a refusal. */
const REFUSED_MS = 10 * MINUTE_MS;
/** After the last of these claims, no function presents the token until the next night: a person has to authorize. */
const REFUSED_FOR_GOOD_MS = 20 * 60 * MINUTE_MS;

/** What the ledger records about a refresh that failed, and the error of the run. */
function failureOf(
  answer: Exclude<TokenAnswer, { kind: 'granted' }>,
  freshness: TokenFreshness,
  claim: Claim,
  deps: RefreshDeps,
): { changes: Partial<LedgerItem>; error: RunError } {
  const { kind, message, status, code, retryAfterSeconds } = answer;
  const now = deps.now().getTime();
  if (kind === 'invalidGrant') {
    const death = { reason: message, diedAt: deps.now().toISOString() };
    return { changes: { state: 'DEAD', ...death }, error: reauthorization(claim.versionId, death, deps) };
  }
  if (kind === 'lost') {
    const unansweredSince = claim.unansweredSince || now;
    countUnanswered(unansweredSince, deps);
    const deadline = Math.max(claim.deadline, now + (HOLDS_MS[claim.unanswered] ?? LONGEST_HOLD_MS));
    const changes = { deadline, unanswered: claim.unanswered + 1, unansweredSince };
    return { changes, error: new RunError('CrmUnavailable', message, { status }) };
  }
  if (kind === 'unclear') {
    // Such a refusal may be temporary, so the grant is not marked dead.
    const refusals = claim.refusals + 1;
    const deadline = now + (refusals >= MOST_REFUSALS ? REFUSED_FOR_GOOD_MS : REFUSED_MS);
    const next = `${message} The next refresh is tried after ${new Date(deadline).toISOString()}.`;
    // An access token that is still valid is used until it expires.
    const isOver = refusals >= MOST_REFUSALS && freshness === 'stale';
    const error = isOver
      ? reauthorization(claim.versionId, { reason: message, refusals }, deps)
      : new RunError('CrmUnavailable', next, { status });
    return { changes: { deadline, refusals, reason: message }, error };
  }
  if (kind === 'busy') {
    return { changes: CLAIM_RETURNED, error: new RunError('RateLimited', message, { status, retryAfterSeconds }) };
  }
  if (kind === 'notSent' || kind === 'locked') {
    return { changes: CLAIM_RETURNED, error: new RunError('CrmUnavailable', message, { status, retryAfterSeconds }) };
  }
  const newSecret = ` If the secret of the client has changed: ${deps.authorizeCommand} --new-secret.`;
  const text = code === 'invalid_client' ? `${message}${newSecret}` : message;
  return { changes: CLAIM_RETURNED, error: new RunError('ConfigInvalid', text, { status }) };
}

/** @param since when the first unanswered request was sent, in milliseconds; 0 if there was none */
export function countUnanswered(since: number, { now, count }: Pick<RefreshDeps, 'now' | 'count'>): void {
  // A token endpoint without an answer for four hours raises an alarm.
  if (since > 0 && now().getTime() - since >= 240 * MINUTE_MS) count('TokenEndpointUnanswered');
}

/** @param death the reason, and when the grant died or how often it was refused instead */
export function reauthorization(
  versionId: string,
  { reason, diedAt, refusals }: Partial<LedgerItem> & { reason: string },
  names: Pick<RefreshDeps, 'secretId' | 'authorizeCommand'>,
): RunError {
  const how = refusals ? `was refused in ${refusals} refreshes` : `is dead${diedAt ? ` since ${diedAt}` : ''}`;
  const why = /[.!?]$/.test(reason) ? reason : `${reason}.`;
  const what = `The grant in the secret ${names.secretId} (token set ${versionId}) ${how}: ${why}`;
  return new RunError('ReauthorizationRequired', `${what} Run: ${names.authorizeCommand}.`);
}

async function keep(
  tokenSet: TokenSet,
  { tokens: answered, client }: TokenAnswer & { kind: 'granted' } & { client: OAuthClient },
  claim: Claim,
  deps: RefreshDeps,
): Promise<TokenSet> {
  const refreshToken = answered.refreshToken ?? tokenSet.tokens.refreshToken;
  const { authorization } = tokenSet.tokens;
  // A refresh by a command does not test the permissions of the functions: an untried grant stays untried.
  const functionStoredAt = deps.inFunction ? deps.now().toISOString() : tokenSet.tokens.functionStoredAt;
  const earlierObtainedAt = obtainedLately(tokenSet.tokens, deps.now());
  // Values that an earlier release did not store are undefined, and JSON leaves them out.
  const tokens = { ...answered, refreshToken, ...client, authorization, functionStoredAt, earlierObtainedAt };
  const next = { versionId: successorOf(tokenSet.versionId), tokens };
  const isRotated = refreshToken !== tokenSet.tokens.refreshToken;
  const stored = await storeUntil(claim.deadline - STORE_MARGIN_MS, next, isRotated, deps);
  if (stored === 'stored') deps.count('TokenRefreshes');
  const standing = stored === 'exists' ? await deps.store.version(next.versionId) : next;
  if (standing && stored !== 'impossible') return marked(standing, claim, deps);
  if (isRotated) {
    // Only this answer has the valid token: use it here, and keep all functions from presenting the old one.
    deps.count('GrantRotatedButNotStored');
    const reason = 'the CRM rotated the grant, but it could not be stored';
    await ended(claim, { state: 'DEAD', reason, diedAt: deps.now().toISOString() }, deps);
  } else {
    // The CRM does not rotate: the stored token can be used again.
    await ended(claim, CLAIM_RETURNED, deps);
  }
  return next;
}

/** Repeats a refused write if the grant would be lost: permissions may come seconds after a deployment. */
async function storeUntil(
  end: number,
  { versionId, tokens }: TokenSet,
  isRotated: boolean,
  deps: RefreshDeps,
): Promise<'stored' | 'exists' | 'impossible'> {
  for (let wait = 250; ; wait *= 2) {
    try {
      // An attempt that began in time must also end in time.
      const limit = AbortSignal.timeout(Math.max(1, end - deps.now().getTime()));
      return (await deps.store.store(versionId, tokens, limit)) ? 'stored' : 'exists';
    } catch (error) {
      if (!(error instanceof RunError) || !(error.transient || isRotated)) return 'impossible';
      if (deps.now().getTime() + wait > end) return 'impossible';
      await deps.sleep(wait);
    }
  }
}

async function marked(tokenSet: TokenSet, claim: Claim, deps: RefreshDeps): Promise<TokenSet> {
  await ended(claim, { state: 'STORED' }, deps);
  return tokenSet;
}

/** Best effort: a claim also ends by its deadline, and functions look for a successor before they claim. */
async function ended(claim: Claim, changes: Partial<LedgerItem>, { ledger }: RefreshDeps): Promise<void> {
  await ledger.end(claim, changes).catch(() => undefined);
}
