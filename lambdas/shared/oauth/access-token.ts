import { randomUUID } from 'node:crypto';
import { RunError } from '../errors.ts';
import { type Freshness, freshnessOf } from './freshness.ts';
import { type Generation, successorOf } from './generation.ts';
import { ATTEMPTS, type ClaimAnswer } from './ledger.ts';
import type { LedgerItem } from './ledger-item.ts';
import { reauthorization } from './reauthorization.ts';
import { SECONDS_NEEDED, type SpendDeps, spend } from './spend.ts';

export interface AccessToken {
  accessToken: string;
  /** Scopes that the token has, blank-separated, as the service named them. */
  scope: string;
}

/**
 * The access token for one call of the service.
 * @param options.rejected a token that the service has just refused with 401: it is not given out again.
 * @param options.reread a token whose rights did not suffice: where a person has authorized since, the new one is given
 *   out. Costs one read of the secret and no refresh.
 * @throws RunError `ConfigInvalid`, `ReauthorizationRequired`, `TokenRefreshInProgress`, `TokenStoreUnavailable`,
 *   `CrmUnavailable`, `RateLimited`
 */
export type GetAccessToken = (options?: { rejected?: string; reread?: string }) => Promise<AccessToken>;

export interface AccessTokenDeps extends SpendDeps {
  random: () => number;
}

/** Longer than a lease: who waits for a holder that died takes over within this. */
const PATIENCE_MS = 60_000;

/**
 * Gives out the stored access token while it lives. When it does not, one of any number of functions refreshes it (see
 * docs/adr/0013), and all others wait for what that one stores. A valid token costs one read of the secret per container.
 */
export function createGetAccessToken(deps: AccessTokenDeps): GetAccessToken {
  let cached: Generation | undefined;
  let running: { rejected: string | undefined; result: Promise<Generation> } | undefined;

  const shared = async (rejected: string | undefined): Promise<Generation> => {
    // One that does not know of the refusal may hand out what was refused: it is waited for, not joined.
    while (running && rejected !== undefined && running.rejected !== rejected) {
      await running.result.catch(() => undefined);
    }
    const end = () => {
      running = undefined;
    };
    running ??= { rejected, result: obtain(rejected, deps).finally(end) };
    return running.result;
  };

  return async ({ rejected, reread } = {}) => {
    if (reread !== undefined && cached?.tokens.accessToken === reread) cached = undefined;
    if (!cached || freshnessOf(cached.tokens, rejected, deps.now()) !== 'fresh') cached = await shared(rejected);
    const { accessToken, scope } = cached.tokens;
    return { accessToken, scope };
  };
}

async function obtain(rejected: string | undefined, deps: AccessTokenDeps): Promise<Generation> {
  const owner = randomUUID();
  const giveUpAt = deps.now().getTime() + PATIENCE_MS;
  for (;;) {
    const generation = await newest(rejected, deps);
    const freshness = freshnessOf(generation.tokens, rejected, deps.now());
    if (freshness === 'fresh') return generation;
    const answer = await claim(generation, freshness, owner, deps);
    if (answer?.won) return spendOrKeep(generation, freshness, answer, deps);
    if (freshness === 'ageing' || !answer) return generation;
    await refuseIfOver(generation, answer.item, deps);
    await waitForHolder(answer.item, giveUpAt, deps);
  }
}

/** The newest generation: the label may be stale, but a successor that exists proves that there is a newer one. */
async function newest(rejected: string | undefined, { store, now }: AccessTokenDeps): Promise<Generation> {
  let generation = await store.current();
  while (freshnessOf(generation.tokens, rejected, now()) !== 'fresh') {
    const successor = await store.version(successorOf(generation.versionId));
    if (!successor) return generation;
    generation = successor;
  }
  return generation;
}

/** A token that still lives is used when the ledger is in trouble: nothing is spent without a claim either way. */
async function claim(
  { versionId }: Generation,
  freshness: Freshness,
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

/** A refresh ahead of time that fails, for whatever reason, leaves a token that lives; only a dead grant is said at once. */
async function spendOrKeep(
  generation: Generation,
  freshness: Freshness,
  { claim: held }: ClaimAnswer & { won: true },
  deps: AccessTokenDeps,
): Promise<Generation> {
  try {
    return await spend(generation, held, deps);
  } catch (error) {
    const alive = error instanceof RunError && error.name !== 'ReauthorizationRequired';
    if (freshness === 'ageing' && alive) return generation;
    throw error;
  }
}

/** Ends the waiting for a generation that nobody will ever refresh. */
async function refuseIfOver({ versionId }: Generation, item: LedgerItem, deps: AccessTokenDeps): Promise<void> {
  if (item.state === 'DEAD') throw reauthorization(versionId, item, deps);
  const over = item.state === 'CLAIMED' && item.attempt >= ATTEMPTS && item.deadline < deps.now().getTime();
  // The last holder may have stored and died before it said so.
  if (!over || (await deps.store.version(successorOf(versionId)))) return;
  const interrupted = `the refresh was interrupted ${ATTEMPTS} times, and nobody knows what the service made of it`;
  const diedAt = item.diedAt || new Date(item.deadline).toISOString();
  // A reason stands there where a person authorized over a dead generation, and it was never stored.
  throw reauthorization(versionId, { reason: item.reason || interrupted, diedAt }, deps);
}

async function waitForHolder({ state, deadline }: LedgerItem, giveUpAt: number, deps: AccessTokenDeps): Promise<void> {
  // The machine waits cheaper than a function does.
  if (state === 'CLAIMED' && deadline - deps.now().getTime() > PATIENCE_MS) {
    const what = 'Two refreshes of the grant got no answer that could be used; the next is tried after';
    throw new RunError('TokenRefreshInProgress', `${what} ${new Date(deadline).toISOString()}.`);
  }
  if (deps.now().getTime() < giveUpAt && deps.secondsLeft() > SECONDS_NEEDED) {
    return deps.sleep(250 + 1250 * deps.random());
  }
  throw new RunError('TokenRefreshInProgress', 'Another function is refreshing the grant.');
}
