import { setTimeout } from 'node:timers/promises';
import { PERSONAL_SCOPES } from '../../core/config/scopes.ts';
import { RunError } from '../../core/errors.ts';
import {
  BEFORE_THE_FIRST,
  type GrantStore,
  newestTokenSet,
  obtainedLately,
  successorOf,
  type TokenSet,
} from '../../core/oauth/grant.ts';
import { CLAIM_RETURNED, type Claim, isDead, LEASE_MS } from '../../core/oauth/ledger.ts';
import type { NewTokens, OAuthClient, Tokens } from '../../core/oauth/secrets.ts';
import type { GrantPlaces } from '../deployment-state.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';

interface StoreDeps extends GrantPlaces {
  /** The time for the claim, in milliseconds since the epoch; by default that of this machine. */
  now?: () => number;
  /** A monotonic clock in milliseconds: the time of this machine is never compared with the time of the functions. */
  elapsed?: () => number;
  sleep?: (ms: number) => Promise<unknown>;
  /** Called once if the command has to wait because another process holds the grant. */
  onWait?: (() => void) | undefined;
  /** Ends the wait; a store operation that has started continues. */
  signal?: AbortSignal | undefined;
}

/** A grant with the number of its authorization. */
type Numbered = NewTokens & Pick<Tokens, 'authorization'>;

interface AuthorizationDeps extends StoreDeps {
  /** @throws RunError */
  writeClient: (value: OAuthClient) => Promise<unknown>;
  /** Scopes that the grant needs in order to replace a working one; default: none. */
  needed?: string[] | undefined;
}

/**
 * Stores a grant together with its client, and the client for the next authorization. The grant is marked as untried: a
 * function refreshes it at once. If a call fails half-way, the same call again completes the work: the
 * number shows whether the grant is stored.
 * @param stored the client that was stored before
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`; CommandError (exit code 1) if a later authorization is
 *   stored, or a needed scope is missing
 */
export async function storeAuthorization(
  { clientId, clientSecret, stored }: OAuthClient & { stored: OAuthClient | undefined },
  tokens: Numbered,
  { writeClient, needed = [], ...deps }: AuthorizationDeps,
): Promise<TokenSet> {
  const standing = await standingGrant(deps);
  const { authorization } = tokens;
  const isStored = authorization !== undefined && standing.tokenSet?.tokens.authorization === authorization;
  const own = isStored ? standing.tokenSet : undefined;
  if (!own) {
    refuseLater(standing.tokenSet, tokens);
    refuseFewerScopes(standing, tokens, needed);
  }
  const client = { clientId, clientSecret };
  // A refresh uses the stored secret if the grant has the same client, and the secret in the grant otherwise.
  const isSame = stored?.clientId === clientId;
  if (isSame && stored.clientSecret !== clientSecret) await writeClient(client);
  const done = own ?? (await storeGrant({ ...tokens, ...client, functionStoredAt: null }, deps));
  if (!isSame) await writeClient(client);
  return done;
}

/** An older consent never replaces a newer one. @throws CommandError (exit code 1) */
function refuseLater(standing: TokenSet | undefined, { authorization }: Pick<Tokens, 'authorization'>): void {
  const later = standing?.tokens.authorization ?? 0;
  if (authorization === undefined || later <= authorization) return;
  throw new CommandError(
    `A later authorization (number ${later}) is stored already: the grant of this one (number ${authorization}) was not stored.`,
    RUN_FAILED,
  );
}

/** Refuses to replace a working grant with one that has fewer scopes than the deployment needs. */
function refuseFewerScopes({ tokenSet, dead }: StandingGrant, { scope }: NewTokens, needed: string[]): void {
  if (!tokenSet || dead) return;
  const [newScopes, standingScopes] = [scope, tokenSet.tokens.scope].map((text) => text.split(' '));
  // Some services never name the personal scopes in their answers.
  const lost = needed.filter(
    (name) => !newScopes?.includes(name) && (standingScopes?.includes(name) || !PERSONAL_SCOPES.includes(name)),
  );
  if (lost.length === 0) return;
  throw new CommandError(
    `The new grant lacks ${lost.join(' ')}, which the deployment needs, and was not stored. Let an administrator of the CRM give these rights to the person who consents, or store it anyway with --replace.`,
    RUN_FAILED,
  );
}

/**
 * Stores a new grant as the successor of the current token set, dead or not, under a claim as the functions do. Waits
 * for a refresh in progress, so that the new grant is the newest.
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`; CommandError if a later authorization is stored
 */
export async function storeGrant(
  tokens: Numbered & Pick<Tokens, 'functionStoredAt' | keyof OAuthClient>,
  deps: StoreDeps,
): Promise<TokenSet> {
  const { store, ledger, now = Date.now } = deps;
  for (;;) {
    const before = await newestVersion(store);
    const claim = await claimWhenFree(before, deps);
    if (!claim) continue;
    try {
      const standing = await store.version(before).catch((error: unknown) => {
        // A transient error may hide a newer consent. A value of another shape counts as none: no function can use it.
        if (error instanceof RunError && error.transient) throw error;
        return undefined;
      });
      refuseLater(standing, tokens);
      const earlierObtainedAt = standing ? obtainedLately(standing.tokens, new Date(now())) : [];
      const tokenSet = { versionId: successorOf(before), tokens: { ...tokens, earlierObtainedAt } };
      if (!(await store.store(tokenSet.versionId, tokenSet.tokens))) continue;
      await ledger.end(claim, { state: 'STORED' }).catch(() => undefined);
      return tokenSet;
    } catch (error) {
      // Functions can use the former grant without waiting for the end of the claim.
      await ledger.end(claim, CLAIM_RETURNED).catch(() => undefined);
      throw error;
    }
  }
}

/** The newest token set, found along the chain: the label AWSCURRENT may be stale, missing, or at an unreadable value. */
async function newestVersion(store: GrantStore): Promise<string> {
  let versionId = (await store.currentVersionId()) ?? BEFORE_THE_FIRST;
  while (await store.version(successorOf(versionId))) versionId = successorOf(versionId);
  return versionId;
}

/** The claim; `undefined` if the token set has a successor in the meantime. */
async function claimWhenFree(versionId: string, deps: StoreDeps): Promise<Claim | undefined> {
  const { ledger, store, now = Date.now, elapsed = () => performance.now(), sleep = setTimeout } = deps;
  let item = await ledger.read(versionId);
  let since = elapsed();
  for (let attempt = 0; ; attempt += 1) {
    // The token set can be claimed if it has no claim, its claim was given back, it is dead, or its claim has not
    // changed for a whole lease.
    if (!item || isDead(item) || item.deadline === 0 || elapsed() - since > LEASE_MS) {
      const answer = await ledger.claimObserved(versionId, now(), item);
      if (answer.won) return answer.claim;
    }
    if (await store.version(successorOf(versionId))) return undefined;
    if (attempt === 0) deps.onWait?.();
    await sleep(1000);
    deps.signal?.throwIfAborted();
    const before = item;
    item = await ledger.read(versionId);
    const isSameHolder =
      item?.state === before?.state && item?.owner === before?.owner && item?.deadline === before?.deadline;
    if (!isSameHolder) since = elapsed();
  }
}

type StandingGrant = Awaited<ReturnType<typeof standingGrant>>;

/**
 * The newest readable grant, and whether its refresh token is known to be invalid.
 * @throws RunError `TokenStoreUnavailable`
 */
export async function standingGrant({ store, ledger }: GrantPlaces) {
  try {
    const newest = await newestTokenSet(store);
    const item = await ledger.read(newest.versionId);
    return { tokenSet: newest, dead: item !== undefined && isDead(item) };
  } catch (error) {
    // No grant is stored, or no function can use the stored one.
    if (error instanceof RunError && error.name === 'ConfigInvalid') return { tokenSet: undefined, dead: false };
    throw error;
  }
}
