import { PERSONAL_SCOPES } from '../../core/config/scopes.ts';
import { RunError } from '../../core/errors.ts';
import { type Generation, type GrantStore, newestOf } from '../../core/oauth/grant.ts';
import type { Ledger } from '../../core/oauth/ledger.ts';
import type { NewTokens } from '../../core/oauth/secrets.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { withRetries } from '../support/with-retries.ts';

export interface GrantPlaces {
  store: GrantStore;
  ledger: Ledger;
}

/** The newest grant that can be read, and whether its refresh token is known to be worthless. */
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
    // Nothing is stored, or what nobody can use.
    if (error instanceof RunError && error.name === 'ConfigInvalid') return undefined;
    throw error;
  }
}

/** How far an authorization came. */
export interface Reached {
  /** From then on the CRM may have ended the grant of before. */
  consented?: boolean;
  tokens?: NewTokens;
}

export const STORED = 'The new grant is stored and in use.';

/** Which grant counts, where the command ends before its time. */
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
 * A grant with fewer scopes than the deployment needs never takes the place of one that works.
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
