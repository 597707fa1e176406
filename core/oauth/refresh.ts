import { RunError } from '../errors.ts';
import { type Generation, type GrantStore, obtainedLately, successorOf, type TokenFreshness } from './grant.ts';
import type { Claim, Ledger } from './ledger.ts';
import { clientOf, type OAuthClient, type StoredClient, type Tokens } from './secrets.ts';
import type { TokenAnswer } from './token-endpoint.ts';

/** Dependencies of a refresh; times in milliseconds. */
export interface SpendDeps {
  store: GrantStore;
  ledger: Ledger;
  readClient: () => Promise<StoredClient>;
  callTokenEndpoint: (client: OAuthClient, tokens: Tokens, timeoutMs: number) => Promise<TokenAnswer>;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  secondsLeft: () => number;
  /** Counts an event, for an alarm. */
  count: (event: 'TokenRefreshes' | 'GrantRotatedButNotStored' | 'TokenEndpointUnanswered') => void;
  onOddities?: ((oddities: string[]) => void) | undefined;
  /** Whether a function refreshes, and not a command that a person runs. */
  inFunction?: boolean;
  /** The secret, and the command to authorize again, for messages. */
  secretId: string;
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
/** A token endpoint without an answer for this long raises an alarm. */
const LONG_UNANSWERED_MS = 4 * 3_600_000;
/** Time for storing, reserved at the end of the claim. */
const STORE_BUDGET_MS = 10_000;

/**
 * Spends a generation under its claim, and stores the successor before it is used.
 * @throws RunError `ReauthorizationRequired`, `TokenRefreshInProgress`, `CrmUnavailable`, `RateLimited`,
 *   `ConfigInvalid`, `TokenStoreUnavailable`
 */
export async function spend(
  generation: Generation,
  freshness: TokenFreshness,
  claim: Claim,
  deps: SpendDeps,
): Promise<Generation> {
  const prepared = await prepare(generation, claim, deps).catch(async (error: unknown) => {
    await givenBack(claim, deps);
    throw error;
  });
  if ('successor' in prepared) return marked(prepared.successor, claim, deps);
  const answer = await present(generation, prepared.client, claim, deps);
  if (answer.kind === 'granted') return keep(generation, answer, claim, deps);
  if (answer.kind === 'invalidGrant') return markedDead(generation, answer.message, claim, deps);
  const { status, retryAfterSeconds } = answer;
  if (answer.kind === 'unclear') throw await refusedAgain(generation, freshness, answer, claim, deps);
  if (answer.kind === 'lost') {
    await unanswered(claim, deps);
    throw new RunError('CrmUnavailable', answer.message, { status });
  }
  await givenBack(claim, deps);
  if (answer.kind === 'refused') throw new RunError('ConfigInvalid', refusalText(answer.message, deps), { status });
  if (answer.kind === 'notSent') throw new RunError('CrmUnavailable', answer.message);
  throw new RunError('RateLimited', answer.message, { status, retryAfterSeconds });
}

function refusalText(message: string, { authorizeCommand }: SpendDeps): string {
  if (!message.includes('invalid_client')) return message;
  return `${message} If the secret of the client has changed: ${authorizeCommand} --new-secret.`;
}

async function prepare(
  { versionId, tokens }: Generation,
  claim: Claim,
  deps: SpendDeps,
): Promise<{ successor: Generation } | { client: OAuthClient }> {
  // A successor exists already if a holder died after storing it, or if the ledger lost the item.
  const successor = await deps.store.version(successorOf(versionId));
  if (successor) return { successor };
  if (deps.secondsLeft() < SECONDS_NEEDED) {
    const what = 'Too little time is left in this invocation to refresh the grant safely.';
    throw new RunError('TokenRefreshInProgress', what);
  }
  const client = clientOf(await deps.readClient(), tokens);
  if (!client) {
    const what = `The grant was given to another client than the secret holds, and was not used. To store a client with its grant: ${deps.authorizeCommand}.`;
    throw new RunError('ConfigInvalid', what);
  }
  if (requestTime(claim, deps) < FIRST_TIMEOUT_MS) {
    throw new RunError('TokenRefreshInProgress', 'Preparing the refresh of the grant took too long.');
  }
  return { client };
}

/** Best effort: the claim also ends by its deadline. */
async function givenBack(claim: Claim, { ledger }: SpendDeps): Promise<void> {
  await ledger.giveBack(claim).catch(() => undefined);
}

/** Best effort: the claim also ends by its deadline. */
async function unanswered(claim: Claim, deps: SpendDeps): Promise<void> {
  const now = deps.now().getTime();
  await deps.ledger.markUnanswered(claim, now).catch(() => undefined);
  countUnanswered(claim.unansweredSince || now, deps);
}

/** @param since when the first unanswered request was sent, in milliseconds; 0 if there was none */
export function countUnanswered(since: number, { now, count }: Pick<SpendDeps, 'now' | 'count'>): void {
  if (since > 0 && now().getTime() - since >= LONG_UNANSWERED_MS) count('TokenEndpointUnanswered');
}

/** The most claims that present a token which is refused with an unrecognised error code. */
export const MOST_REFUSALS = 3;
/** The time between claims after such a refusal. */
const REFUSED_MS = 10 * 60_000;
/** After the last of these claims, no function presents the token until the next night: a person has to authorize. */
const REFUSED_FOR_GOOD_MS = 20 * 3_600_000;

/** A refusal with an unrecognised error code may be temporary, so the grant is not marked dead. */
async function refusedAgain(
  { versionId }: Generation,
  freshness: TokenFreshness,
  { message, status }: { message: string; status?: number },
  claim: Claim,
  deps: SpendDeps,
): Promise<RunError> {
  const isLast = claim.refusals + 1 >= MOST_REFUSALS;
  const until = deps.now().getTime() + (isLast ? REFUSED_FOR_GOOD_MS : REFUSED_MS);
  // Best effort: the claim also ends by its deadline.
  await deps.ledger.markRefused(claim, message, until).catch(() => undefined);
  // An access token that is still valid is used until it expires.
  if (isLast && freshness === 'stale') return refusedForGood(versionId, message, deps);
  const next = `The next refresh is tried after ${new Date(until).toISOString()}.`;
  return new RunError('CrmUnavailable', `${message} ${next}`, { status });
}

export function refusedForGood(
  versionId: string,
  reason: string,
  names: Pick<SpendDeps, 'secretId' | 'authorizeCommand'>,
): RunError {
  const what = `The CRM refused to refresh the grant in the secret ${names.secretId} (generation ${versionId}) at least ${MOST_REFUSALS} times`;
  return new RunError('ReauthorizationRequired', `${what}: ${reason} Run: ${names.authorizeCommand}.`);
}

/**
 * Presents the refresh token, and repeats the request once if the answer was lost: the token may be spent already. A
 * first refusal with an unrecognised error code may be temporary, and is repeated once as well.
 */
async function present(
  { tokens }: Generation,
  client: OAuthClient,
  claim: Claim,
  deps: SpendDeps,
): Promise<TokenAnswer> {
  const first = afterLost(claim, await deps.callTokenEndpoint(client, tokens, FIRST_TIMEOUT_MS));
  const isRepeated = first.kind === 'lost' || (first.kind === 'unclear' && claim.refusals === 0);
  if (!isRepeated || requestTime(claim, deps) < SECOND_TIMEOUT_MS) return first;
  const second = await deps.callTokenEndpoint(client, tokens, SECOND_TIMEOUT_MS);
  if (second.kind === 'granted' || second.kind === 'invalidGrant') return second;
  // After a lost answer, the first request may have been processed, regardless of the second answer.
  return first.kind === 'unclear' && (second.kind === 'lost' || second.kind === 'refused') ? second : first;
}

/** After a lost answer the token may be spent: a refusal with an unrecognised code counts as lost, too. */
function afterLost({ unanswered }: Claim, answer: TokenAnswer): TokenAnswer {
  return answer.kind === 'unclear' && unanswered > 0 ? { ...answer, kind: 'lost' } : answer;
}

/** Milliseconds left for requests under this claim. After its deadline another function may present the token. */
function requestTime({ deadline }: Claim, { now }: SpendDeps): number {
  return deadline - STORE_BUDGET_MS - now().getTime();
}

async function keep(
  generation: Generation,
  { tokens: answered, oddities }: TokenAnswer & { kind: 'granted' },
  claim: Claim,
  deps: SpendDeps,
): Promise<Generation> {
  const refreshToken = answered.refreshToken ?? generation.tokens.refreshToken;
  const { clientId, authorization } = generation.tokens;
  // A refresh by a command does not test the permissions of the functions: an untried grant stays untried.
  const functionStoredAt = deps.inFunction ? deps.now().toISOString() : generation.tokens.functionStoredAt;
  const earlierObtainedAt = obtainedLately(generation.tokens, deps.now());
  const whose = { ...(clientId && { clientId }), ...(authorization && { authorization }) };
  const tokens = { ...answered, refreshToken, ...whose, functionStoredAt, earlierObtainedAt };
  const versionId = successorOf(generation.versionId);
  const rotated = tokens.refreshToken !== generation.tokens.refreshToken;
  const stored = await storeUntil(claim.deadline - STORE_MARGIN_MS, { versionId, tokens, rotated }, deps);
  if (oddities.length > 0) deps.onOddities?.(oddities);
  if (stored === 'stored') {
    deps.count('TokenRefreshes');
    return marked({ versionId, tokens }, claim, deps);
  }
  const standing = stored === 'exists' ? await deps.store.version(versionId) : undefined;
  if (standing) return marked(standing, claim, deps);
  if (!rotated) {
    // The CRM does not rotate: the stored token can be used again.
    await givenBack(claim, deps);
    return { versionId, tokens };
  }
  // Only this answer has the valid token: use it here, and keep all functions from presenting the old one.
  deps.count('GrantRotatedButNotStored');
  const reason = 'the CRM rotated the grant, but it could not be stored';
  // Best effort: even if the ledger fails as well, this token can be used until it expires.
  await deps.ledger.markDead(claim, reason, deps.now()).catch(() => undefined);
  return { versionId, tokens };
}

/** Repeats a refused write if the grant would be lost: permissions may come seconds after a deployment. */
async function storeUntil(
  end: number,
  { versionId, tokens, rotated }: Generation & { rotated: boolean },
  deps: SpendDeps,
) {
  for (let wait = 250; ; wait *= 2) {
    try {
      // An attempt that began in time must also end in time.
      const limit = AbortSignal.timeout(Math.max(1, end - deps.now().getTime()));
      return (await deps.store.store(versionId, tokens, limit)) ? 'stored' : 'exists';
    } catch (error) {
      if (!(error instanceof RunError) || !(error.transient || rotated)) return 'impossible';
      if (deps.now().getTime() + wait > end) return 'impossible';
      await deps.sleep(wait);
    }
  }
}

/** Marks a grant dead, but only if its generation is still the newest. */
async function markedDead(generation: Generation, message: string, claim: Claim, deps: SpendDeps): Promise<Generation> {
  const successor = await deps.store.version(successorOf(generation.versionId));
  if (successor) return marked(successor, claim, deps);
  const current = await deps.store.current();
  if (!(await leadsTo(current.versionId, generation.versionId, deps.store))) return current;
  const diedAt = deps.now();
  await deps.ledger.markDead(claim, message, diedAt);
  throw reauthorization(generation.versionId, { reason: message, diedAt: diedAt.toISOString() }, deps);
}

/** Whether the second generation is the first one or a successor of it: AWSCURRENT may name an old generation. */
async function leadsTo(first: string, second: string, store: GrantStore): Promise<boolean> {
  let at = first;
  while (at !== second && (await store.version(successorOf(at)))) at = successorOf(at);
  return at === second;
}

/** Best effort: functions look for a successor even if the item stays claimed. */
async function marked(generation: Generation, claim: Claim, { ledger }: SpendDeps): Promise<Generation> {
  await ledger.markStored(claim).catch(() => undefined);
  return generation;
}

export function reauthorization(
  versionId: string,
  death: { reason: string; diedAt: string },
  names: { secretId: string; authorizeCommand: string },
): RunError {
  const since = death.diedAt ? ` since ${death.diedAt}` : '';
  const reason = /[.!?]$/.test(death.reason) ? death.reason : `${death.reason}.`;
  const what = `The grant in the secret ${names.secretId} (generation ${versionId}) is dead${since}: ${reason} Run: ${names.authorizeCommand}.`;
  return new RunError('ReauthorizationRequired', what);
}
