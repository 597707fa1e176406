import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PERSONAL_SCOPES } from '../../core/config/scopes.ts';
import { RunError } from '../../core/errors.ts';
import {
  BEFORE_THE_FIRST,
  type Generation,
  type GrantStore,
  newestOf,
  obtainedLately,
  successorOf,
} from '../../core/oauth/grant.ts';
import { type Claim, GIVEN_BACK, LEASE_MS, type Ledger, type LedgerItem } from '../../core/oauth/ledger.ts';
import { clientOf, type NewTokens, type StoredClient, type Tokens } from '../../core/oauth/secrets.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import type { ChosenClient } from './oauth-client-choice.ts';

interface StoreDeps {
  store: GrantStore;
  ledger: Ledger;
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

type Deps = Required<Omit<StoreDeps, 'signal'>> & Pick<StoreDeps, 'signal'>;

const LOOK_MS = 1000;

/**
 * Stores a new grant as the successor of the current generation, dead or not, under a claim as the functions do. Waits
 * for a refresh in progress, so that the new grant is the newest.
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`; CommandError if a later authorization is stored
 */
export async function storeGrant(
  tokens: NewTokens & Pick<Tokens, 'clientId' | 'functionStoredAt' | 'authorization'>,
  given: StoreDeps,
): Promise<Generation> {
  const onWait = given.onWait ?? (() => undefined);
  const deps = { now: Date.now, elapsed: () => performance.now(), sleep, ...given, onWait };
  for (;;) {
    const before = await withRetries(() => newest(deps.store), deps);
    const claim = await claimWhenFree(before, deps);
    if (!claim) continue;
    const standing = await readable(before, deps);
    if (standing && isLater(standing, tokens)) {
      await deps.ledger.end(claim, GIVEN_BACK).catch(() => undefined);
      throw laterAuthorization(standing, tokens);
    }
    const earlierObtainedAt = standing ? obtainedLately(standing.tokens, new Date(deps.now())) : [];
    const generation = { versionId: successorOf(before), tokens: { ...tokens, earlierObtainedAt } };
    if (!(await storeUnder(claim, generation, deps))) continue;
    await deps.ledger.end(claim, { state: 'STORED' }).catch(() => undefined);
    return generation;
  }
}

/** If storing fails, gives the claim back, so that functions can use the former grant without waiting for its end. */
async function storeUnder(claim: Claim, { versionId, tokens }: Generation, deps: Deps): Promise<boolean> {
  try {
    // Idempotent: the version id stays the same.
    return await withRetries(() => deps.store.store(versionId, tokens), deps);
  } catch (error) {
    await deps.ledger.end(claim, GIVEN_BACK).catch(() => undefined);
    throw error;
  }
}

/** A generation; `undefined` if it does not exist or cannot be read. */
async function readable(versionId: string, { store }: Deps): Promise<Generation | undefined> {
  return store.version(versionId).catch(() => undefined);
}

type Numbered = Pick<Tokens, 'authorization'>;

/** Whether a stored generation belongs to a later authorization than another grant. */
function isLater({ tokens }: Generation, { authorization = Number.POSITIVE_INFINITY }: Numbered): boolean {
  return (tokens.authorization ?? 0) > authorization;
}

function laterAuthorization({ tokens }: Generation, { authorization }: Numbered): CommandError {
  const what = `A later authorization (number ${tokens.authorization}) is stored already`;
  return new CommandError(`${what}: the grant of this one (number ${authorization}) was not stored.`, RUN_FAILED);
}

/** The newest generation, found by following the chain: the label AWSCURRENT may be stale or missing. */
async function newest(store: GrantStore): Promise<string> {
  let versionId = (await store.currentVersionId()) ?? BEFORE_THE_FIRST;
  while (await exists(store, successorOf(versionId))) versionId = successorOf(versionId);
  return versionId;
}

/** Whether a generation exists, readable or not. */
async function exists(store: GrantStore, versionId: string): Promise<boolean> {
  try {
    return (await store.version(versionId)) !== undefined;
  } catch (error) {
    const unreadable = error instanceof RunError && error.name === 'ConfigInvalid';
    if (unreadable && (await store.currentVersionId()) === versionId) return true;
    throw error;
  }
}

/** The claim, or `undefined` if the generation has a successor by now. */
async function claimWhenFree(versionId: string, deps: Deps): Promise<Claim | undefined> {
  const { ledger, store, elapsed } = deps;
  const owner = randomUUID();
  const read = () => withRetries(() => ledger.read(versionId), deps);
  let watched = { item: await read(), since: elapsed() };
  for (let look = 0; ; look += 1) {
    const { item, since } = watched;
    if (isFree(item, elapsed() - since)) {
      const now = deps.now();
      const answer = await withRetries(() => ledger.claimObserved(versionId, owner, now, item), deps);
      if (answer.won) return answer.claim;
    }
    if (await withRetries(() => exists(store, successorOf(versionId)), deps)) return undefined;
    if (look === 0) deps.onWait();
    await deps.sleep(LOOK_MS);
    deps.signal?.throwIfAborted();
    const now = await read();
    if (!sameHolder(now, item)) watched = { item: now, since: elapsed() };
  }
}

/** Whether the generation has no claim, or one that was given back, marked dead or unchanged for a whole lease. */
function isFree(item: LedgerItem | undefined, watchedMs: number): boolean {
  return !item || item.state === 'DEAD' || item.deadline === 0 || watchedMs > LEASE_MS;
}

function sameHolder(a: LedgerItem | undefined, b: LedgerItem | undefined): boolean {
  return a?.state === b?.state && a?.owner === b?.owner && a?.deadline === b?.deadline;
}

interface AuthorizationDeps extends StoreDeps {
  /** @throws RunError */
  writeClient: (value: StoredClient) => Promise<void>;
}

/**
 * Stores a grant and its client. A new client is stored with the former client beside it until its grant is stored, so
 * the client of the grant in use is always stored. The grant is marked as untried: a function refreshes it at once.
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`
 */
export async function storeAuthorization(
  { clientId, clientSecret, stored }: ChosenClient,
  tokens: NewTokens & Numbered,
  { writeClient, ...deps }: AuthorizationDeps,
): Promise<Generation> {
  const { generation: standing } = await withRetries(() => standingGrant(deps), deps);
  // This check comes before the write below, which would overwrite the client of the later authorization.
  if (standing && isLater(standing, tokens)) throw laterAuthorization(standing, tokens);
  const used = { clientId, clientSecret };
  const write = (value: StoredClient) => withRetries(() => writeClient(value), deps);
  const former = formerClient(clientId, stored, standing);
  if (former) await write({ ...used, former });
  else if (stored?.clientId !== clientId || stored.clientSecret !== clientSecret || stored.former) await write(used);
  const generation = await storeGrant({ ...tokens, clientId, functionStoredAt: null }, deps);
  // Best effort: the stored grant names its client too.
  if (former) await writeClient(used).catch(() => undefined);
  return generation;
}

/** The client of the grant in use, if it is another client. */
function formerClient(clientId: string, stored: StoredClient | undefined, generation: Generation | undefined) {
  if (!stored || !generation) return undefined;
  const former = clientOf(stored, generation.tokens);
  if (!former || former.clientId === clientId) return undefined;
  return { clientId: former.clientId, clientSecret: former.clientSecret };
}

export interface GrantPlaces {
  store: GrantStore;
  ledger: Ledger;
}

/** The newest readable grant, and whether its refresh token is known to be invalid. */
interface StandingGrant {
  generation: Generation | undefined;
  dead: boolean;
}

/** @throws RunError `TokenStoreUnavailable` */
export async function standingGrant({ store, ledger }: GrantPlaces): Promise<StandingGrant> {
  const generation = await newestReadable(store);
  const item = generation && (await ledger.read(generation.versionId));
  return { generation, dead: Boolean(item?.diedAt) };
}

async function newestReadable(store: GrantStore): Promise<Generation | undefined> {
  try {
    return (await newestOf(store)).newest;
  } catch (error) {
    // No grant is stored, or no function can use the stored one.
    if (error instanceof RunError && error.name === 'ConfigInvalid') return undefined;
    throw error;
  }
}

/** Progress of an authorization. */
export interface Reached {
  /** After the consent, the CRM may have ended the former grant. */
  consented?: boolean;
  tokens?: NewTokens;
}

export const STORED = 'The new grant is stored and in use.';

/** Which grant is in use after the command ended early. */
export async function whatStands(places: GrantPlaces, { consented, tokens }: Reached): Promise<string> {
  const standing = await standingGrant(places).catch(() => undefined);
  if (!standing) return 'Which grant is stored cannot be read now: doctor says it.';
  const { generation, dead } = standing;
  if (!generation) return 'No grant is stored that can be used.';
  if (generation.tokens.accessToken === tokens?.accessToken) return STORED;
  const old = `The grant obtained at ${generation.tokens.obtainedAt}`;
  if (dead) return `${old} is stored, and dead.`;
  return `${old} is still in use${consented ? ', unless the CRM has ended it for the new one (doctor --refresh tells)' : ''}.`;
}

/**
 * Refuses to replace a working grant with one that has fewer scopes than the deployment needs.
 * @param needed the scopes that were requested
 * @throws CommandError (exit code 1), RunError `TokenStoreUnavailable`
 */
export async function refuseFewerScopes(places: GrantPlaces, { scope }: NewTokens, needed: string[]): Promise<void> {
  const given = scope.split(' ');
  const withheld = needed.filter((name) => !given.includes(name));
  if (withheld.length === 0) return;
  const { generation, dead } = await withRetries(() => standingGrant(places));
  if (!generation || dead) return;
  const held = generation.tokens.scope.split(' ');
  const lost = withheld.filter((name) => held.includes(name) || !PERSONAL_SCOPES.includes(name));
  if (lost.length === 0) return;
  const what = `The new grant lacks ${lost.join(' ')}, which the deployment needs, and was not stored.`;
  throw new CommandError(
    `${what} Let an administrator of the CRM give the right to whoever consents, or store it all the same with --replace.`,
    RUN_FAILED,
  );
}

interface Time {
  /** A monotonic clock in milliseconds. */
  elapsed: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

/** Longest time for retries, well before the end of the claim under which the grant is stored. */
const LONGEST_MS = 20_000;

/** Repeats an action after transient errors, with doubling waits, so that a person need not consent again. */
export async function withRetries<T>(
  action: () => Promise<T>,
  { elapsed = () => performance.now(), sleep: pause = sleep }: Partial<Time> = {},
): Promise<T> {
  const start = elapsed();
  for (let wait = 500; ; wait *= 2) {
    try {
      return await action();
    } catch (error) {
      const passes = error instanceof RunError && error.transient;
      if (!passes || elapsed() + wait - start > LONGEST_MS) throw error;
      await pause(wait);
    }
  }
}
