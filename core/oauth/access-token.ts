import { RunError } from '../errors.ts';
import { newestTokenSet, type TokenFreshness, type TokenSet, tokenFreshness, versionsExhausted } from './grant.ts';
import { type AccessTokenDeps, checkHolder, inProgress, refreshTokenSet, SECONDS_NEEDED } from './refresh.ts';

export interface AccessToken {
  accessToken: string;
  /** The scopes of the token, separated by spaces, as the configuration spells them. */
  scope: string;
  /** When the CRM issued the token. */
  obtainedAt?: string;
}

interface Refused {
  /** The CRM refused this token with 401, so it is not returned again. */
  rejected?: string;
  /** The CRM refused this token with 403. The secret is read once more, because it may contain a newer token. */
  reread?: string;
}

/**
 * Returns the access token for one call of the CRM.
 * @throws RunError `ConfigInvalid`, `ReauthorizationRequired`, `TokenRefreshInProgress`, `TokenStoreUnavailable`,
 *  `SecretVersionsExhausted`, `CrmUnavailable`, `RateLimited`
 */
export type GetAccessToken = (refused?: Refused) => Promise<AccessToken>;

/** State that the invocations of one container share. */
export interface TokenCache {
  /** The token set that was read last. */
  tokenSet?: TokenSet;
  /** Until when an ageing token is used without another attempt to refresh it, in milliseconds since 1970. */
  usedUntil?: number;
}

/**
 * How long a caller waits for a refresh by another function. It is longer than a claim lasts, so a waiting caller can
 * take over from a function that died.
 */
const PATIENCE_MS = 60_000;
const LEAST_PAUSE_MS = 30_000;

/**
 * Returns the stored access token while it is valid; each container reads the secret once. When the token expires,
 * exactly one function refreshes it (docs/adr/0013), and all others wait.
 */
export function createGetAccessToken(deps: AccessTokenDeps, cache: TokenCache = {}): GetAccessToken {
  return async ({ rejected, reread } = {}) => {
    const freshness = ({ tokens }: TokenSet) => {
      const found = tokenFreshness(tokens, deps.now(), { rejected, inFunction: deps.inFunction });
      return found === 'ageing' && deps.now().getTime() < (cache.usedUntil ?? 0) ? 'fresh' : found;
    };
    const { tokenSet } = cache;
    const isKept = tokenSet && tokenSet.tokens.accessToken !== reread && freshness(tokenSet) === 'fresh';
    cache.tokenSet = isKept ? tokenSet : await obtain(freshness, cache, deps);
    const { accessToken, scope, obtainedAt } = cache.tokenSet.tokens;
    return { accessToken, scope, obtainedAt };
  };
}

type Freshness = (tokenSet: TokenSet) => TokenFreshness;

/** Returns a usable token set. If the token is only ageing, an error of its refresh is ignored, except a dead grant. */
async function obtain(freshness: Freshness, cache: TokenCache, deps: AccessTokenDeps): Promise<TokenSet> {
  const giveUpAt = deps.now().getTime() + PATIENCE_MS;
  try {
    for (;;) {
      const found = await storedOrRefreshed(freshness, cache, deps);
      if (found) return found;
      if (deps.now().getTime() > giveUpAt) throw inProgress(`${AT_IT}, or the new token is not readable yet.`);
      await deps.sleep(250 + 1250 * deps.random());
    }
  } catch (error) {
    const { tokenSet } = cache;
    const isUsable = tokenSet && freshness(tokenSet) !== 'stale';
    if (!isUsable || !(error instanceof RunError) || error.name === 'ReauthorizationRequired') throw error;
    cache.usedUntil = deps.now().getTime() + Math.max(LEAST_PAUSE_MS, (error.retryAfterSeconds ?? 0) * 1000);
    return tokenSet;
  }
}

/** @returns `undefined` while another function refreshes the token set */
async function storedOrRefreshed(
  freshness: Freshness,
  cache: TokenCache,
  deps: AccessTokenDeps,
): Promise<TokenSet | undefined> {
  const newest = await newestTokenSet(deps.store, (tokenSet) => {
    cache.tokenSet = tokenSet;
    return freshness(tokenSet) === 'fresh';
  });
  if (freshness(newest) === 'fresh') return newest;
  const exhausted = versionsExhausted(newest.tokens, deps.now());
  if (exhausted) throw exhausted;
  if (deps.secondsLeft() < SECONDS_NEEDED) throw inProgress('Too little time is left in this invocation.');
  // A function may present a refresh token only under a claim.
  const { won, claim } = await deps.ledger.claim(newest.versionId, deps.now().getTime());
  if (won) return refreshTokenSet(newest, freshness(newest), claim, deps);
  if (freshness(newest) === 'ageing') throw inProgress(`${AT_IT}.`);
  await checkHolder(claim, PATIENCE_MS, deps);
  return undefined;
}

const AT_IT = 'Another function is refreshing it';
