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
import { CLAIM_RETURNED, type Claim, isDead } from '../../core/oauth/ledger.ts';
import type { NewTokens, Tokens } from '../../core/oauth/secrets.ts';
import type { GrantPlaces } from '../deployment-state.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';

interface StoreDeps extends GrantPlaces {
  /** The time in milliseconds since the epoch. Functions use the clock of AWS. Default: the clock of this machine. */
  now?: () => number;
  sleep?: (ms: number) => Promise<unknown>;
  /** Called once if the command has to wait because another process holds the grant. */
  onWait?: (() => void) | undefined;
  /** Ends the wait; a store operation that has started continues. */
  signal?: AbortSignal | undefined;
  /** Stores the client of the grant, under the same claim. @throws RunError */
  writeClient?: () => Promise<unknown>;
  /** Scopes that the grant needs in order to replace a working one; default: none. */
  needed?: string[] | undefined;
}

/** A grant with its client and the number of its authorization. */
type Consented = NewTokens & Pick<Tokens, 'authorization' | 'functionStoredAt' | 'clientId'>;

/** An older consent never replaces a newer one. @throws CommandError (exit code 1) */
function refuseLater(standing: TokenSet | undefined, { authorization }: Pick<Tokens, 'authorization'>): void {
  const later = standing?.tokens.authorization ?? 0;
  if (authorization === undefined || later <= authorization) return;
  throw new CommandError(
    `A later authorization (number ${later}) is already stored, so the grant of this authorization (number ${authorization}) was not stored.`,
    RUN_FAILED,
  );
}

/** Refuses to replace a working grant with one that has fewer scopes than the deployment needs. */
function refuseFewerScopes(standing: TokenSet | undefined, { scope }: NewTokens, needed: string[]): void {
  if (!standing) return;
  const [newScopes, standingScopes] = [scope, standing.tokens.scope].map((text) => text.split(' '));
  // Some services never name the personal scopes in their answers.
  const lost = needed.filter(
    (name) => !newScopes?.includes(name) && (standingScopes?.includes(name) || !PERSONAL_SCOPES.includes(name)),
  );
  if (lost.length === 0) return;
  throw new CommandError(
    `The new grant lacks ${lost.join(' ')}, which the deployment needs, and was not stored. Let an administrator of the CRM give these rights to the person who consents, or store the grant anyway with --replace.`,
    RUN_FAILED,
  );
}

/**
 * Stores a new grant as the successor of the current token set, dead or not, under a claim as the functions do. Waits
 * for a refresh in progress, so that the new grant is the newest. The client is written before the grant: no function
 * refreshes the former grant meanwhile. If the work fails half-way, another call with the same arguments completes it:
 * the number of the authorization shows whether the grant is already stored.
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`; CommandError (exit code 1) if a later authorization is
 *   stored, or a needed scope is missing
 */
export async function storeGrant(tokens: Consented, deps: StoreDeps): Promise<TokenSet> {
  const { store, ledger, writeClient, needed = [], now = Date.now } = deps;
  for (;;) {
    const before = await newestVersion(store);
    const claim = await claimWhenFree(before, deps);
    if (!claim) continue;
    try {
      const standing = await readableVersion(store, before);
      if (standing && tokens.authorization && standing.tokens.authorization === tokens.authorization) {
        await ledger.end(claim, CLAIM_RETURNED).catch(() => undefined);
        return standing;
      }
      refuseLater(standing, tokens);
      refuseFewerScopes(isDead(claim) ? undefined : standing, tokens, needed);
      await writeClient?.();
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

/** A stored token set. A value of another shape counts as missing, because no function can use it. */
async function readableVersion(store: GrantStore, versionId: string): Promise<TokenSet | undefined> {
  return store.version(versionId).catch((error: unknown) => {
    // A transient error may hide a newer consent.
    if (error instanceof RunError && error.transient) throw error;
    return undefined;
  });
}

/** The newest token set, found along the chain: the label AWSCURRENT may be stale, missing, or at an unreadable value. */
async function newestVersion(store: GrantStore): Promise<string> {
  let versionId = (await store.currentVersionId()) ?? BEFORE_THE_FIRST;
  while (await store.version(successorOf(versionId))) versionId = successorOf(versionId);
  return versionId;
}

/** The claim; `undefined` if another process has stored a successor in the meantime. */
async function claimWhenFree(versionId: string, deps: StoreDeps): Promise<Claim | undefined> {
  const { ledger, store, now = Date.now, sleep = setTimeout } = deps;
  for (let attempt = 0; ; attempt += 1) {
    const { won, claim } = await ledger.claim(versionId, now(), 'command');
    if (won) return claim;
    if (await store.version(successorOf(versionId))) return undefined;
    if (attempt === 0) deps.onWait?.();
    await sleep(1000);
    deps.signal?.throwIfAborted();
  }
}

/** The newest readable grant. @throws RunError `TokenStoreUnavailable` */
export async function standingGrant(store: GrantStore): Promise<TokenSet | undefined> {
  try {
    return await newestTokenSet(store);
  } catch (error) {
    // No grant is stored, or no function can use the stored one.
    if (error instanceof RunError && error.name === 'ConfigInvalid') return undefined;
    throw error;
  }
}
