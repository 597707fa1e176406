import type { Generation } from '../../core/oauth/generation.ts';
import { clientOf, type NewTokens, type StoredClient } from '../../core/oauth/secrets.ts';
import { withRetries } from '../support/with-retries.ts';
import type { ChosenClient } from './oauth-client-choice.ts';
import { standingGrant } from './standing-grant.ts';
import { type StoreDeps, storeGrant } from './store-grant.ts';

interface AuthorizationDeps extends StoreDeps {
  /** @throws RunError */
  writeClient: (value: StoredClient) => Promise<void>;
}

/**
 * Stores a grant and the client that it was given to. Wherever it ends, the client of the grant that counts is stored: another client
 * keeps the former one beside it until its grant is stored. The grant is stored as untried: a function refreshes it at once.
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`
 */
export async function storeAuthorization(
  { clientId, clientSecret, stored }: ChosenClient,
  tokens: NewTokens,
  { writeClient, ...deps }: AuthorizationDeps,
): Promise<Generation> {
  const used = { clientId, clientSecret };
  const write = (value: StoredClient) => withRetries(() => writeClient(value), deps);
  const former = await formerClient(clientId, stored, deps);
  if (former) await write({ ...used, former });
  else if (stored?.clientId !== clientId || stored.clientSecret !== clientSecret || stored.former) await write(used);
  const generation = await storeGrant({ ...tokens, clientId, functionStoredAt: null }, deps);
  // Best effort: the grant says whose it is.
  if (former) await writeClient(used).catch(() => undefined);
  return generation;
}

/** The client of the grant that counts, where it is another one. */
async function formerClient(clientId: string, stored: StoredClient | undefined, deps: StoreDeps) {
  const { generation } = await withRetries(() => standingGrant(deps), deps);
  if (!stored || !generation) return undefined;
  const former = clientOf(stored, generation.tokens);
  if (!former || former.clientId === clientId) return undefined;
  return { clientId: former.clientId, clientSecret: former.clientSecret };
}
