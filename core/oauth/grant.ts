import { createHash } from 'node:crypto';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { RunError } from '../errors.ts';
import { parseSecret, readSecret, type Tokens, tokensSchema, withoutValue, writeSecret } from './secrets.ts';

/** Stored token sets: their ids and those of their successors, how fresh they are, and when they may be refreshed. */

/** One stored token set. Its refresh token can be spent once. Its name is its VersionId in Secrets Manager. */
export interface TokenSet {
  versionId: string;
  tokens: Tokens;
}

/** The ledger key that is claimed while the secret contains no grant yet. */
export const BEFORE_THE_FIRST = 'before-the-first';

/** The VersionId of the only possible successor. It is fixed in advance, so storing it twice has no effect. */
export function successorOf(versionId: string): string {
  const hex = createHash('sha256').update(`successor of ${versionId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Enough for the longest call of the CRM and a difference between clocks. */
const HARD_MARGIN_MS = 30_000;
/**
 * A token is refreshed this long before it expires. A token with a short life is refreshed after four fifths of its
 * life.
 */
const SOFT_MARGIN_MS = 300_000;
/** The assumed life of a token if the CRM states none. A 401 shows that it has expired. */
const UNKNOWN_LIFE_MS = 3_600_000;

/** `fresh`: use the token. `ageing`: use it, but refresh it if no other function does. `stale`: refresh it first. */
export type TokenFreshness = 'fresh' | 'ageing' | 'stale';

/**
 * How fresh the access token of a token set is. A grant that no function has refreshed yet is `stale` for functions,
 * but not for commands. So if a function lacks a permission, this shows while the person who authorized is still there.
 * If the secret can take no new version, the stored token is used.
 * @param rejected an access token that the CRM has refused
 */
export function tokenFreshness(
  tokens: Tokens,
  now: Date,
  { rejected, inFunction }: { rejected?: string | undefined; inFunction?: boolean | undefined } = {},
): TokenFreshness {
  if (tokens.accessToken === rejected) return 'stale';
  if (inFunction && isUntried(tokens) && !versionsExhausted(tokens, now)) return 'stale';
  const obtained = Date.parse(tokens.obtainedAt);
  const end = tokens.expiresAt === null ? undefined : Date.parse(tokens.expiresAt);
  const life = end === undefined ? UNKNOWN_LIFE_MS : end - obtained;
  const left = obtained + life - now.getTime();
  if (left > Math.min(SOFT_MARGIN_MS, life / 5)) return 'fresh';
  return end === undefined || left > HARD_MARGIN_MS ? 'ageing' : 'stale';
}

/** Whether no function has refreshed and stored this grant since a person authorized it. */
export function isUntried({ functionStoredAt }: Pick<Tokens, 'functionStoredAt'>): boolean {
  return functionStoredAt === null;
}

const DAY_MS = 86_400_000;
/**
 * The most token sets that are stored within 24 hours. Secrets Manager keeps all versions of the last 24 hours, and
 * refuses new ones at about 100: a token that is spent then is lost. The remaining versions are for `authorize`.
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html
 */
const MOST_VERSIONS_A_DAY = 95;

/** When the token sets of the last 24 hours were obtained. The successor stores these times. */
export function obtainedLately({ earlierObtainedAt, obtainedAt }: Tokens, now: Date): string[] {
  return [...earlierObtainedAt, obtainedAt].filter((time) => now.getTime() - Date.parse(time) < DAY_MS);
}

/** The error if a token set must not be spent now; `undefined` if it may be spent. */
export function versionsExhausted(tokens: Tokens, now: Date): RunError | undefined {
  const times = obtainedLately(tokens, now);
  if (times.length < MOST_VERSIONS_A_DAY) return undefined;
  const again = new Date(Math.min(...times.map((time) => Date.parse(time))) + DAY_MS).toISOString();
  const what = `${times.length} token sets were stored in the secret within 24 hours, and Secrets Manager might refuse another. The grant will be refreshed after ${again}.`;
  return new RunError('SecretVersionsExhausted', what);
}

/** The secret with the token sets. Every method may throw RunError `TokenStoreUnavailable` or `ConfigInvalid`. */
export type GrantStore = ReturnType<typeof createGrantStore>;

export function createGrantStore(client: SecretsManagerClient, secretId: string) {
  const parse = ({ versionId, text }: { versionId: string; text: string }): TokenSet => ({
    versionId,
    tokens: parseSecret(secretId, text, tokensSchema),
  });
  const current = () => readSecret(client, secretId, { VersionStage: 'AWSCURRENT' });
  return {
    /** The VersionId labelled AWSCURRENT, even if its value is invalid; `undefined` if the secret has no value. */
    currentVersionId: async () => (await current())?.versionId,
    /** The token set labelled AWSCURRENT. For a while, Secrets Manager may return the previous one. */
    current: async () => {
      const stored = await current();
      if (!stored) throw withoutValue(secretId);
      return parse(stored);
    },
    /** `undefined` if this version does not exist, or is not readable yet. */
    version: async (VersionId: string) => {
      const stored = await readSecret(client, secretId, { VersionId });
      return stored && parse(stored);
    },
    /** Returns `false` if this version exists already, with any content. The signal aborts the request. */
    store: (versionId: string, tokens: Tokens, abortSignal?: AbortSignal) =>
      writeSecret(client, secretId, tokens, { versionId, abortSignal }),
  };
}

/**
 * The newest token set: the label AWSCURRENT may be late, so this follows its successors.
 * @param isEnough ends the search at a token set that can be used
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`
 */
export async function newestTokenSet(
  store: GrantStore,
  isEnough: (tokenSet: TokenSet) => boolean = () => false,
): Promise<TokenSet> {
  let newest = await store.current();
  while (!isEnough(newest)) {
    const successor = await store.version(successorOf(newest.versionId));
    if (!successor) break;
    newest = successor;
  }
  return newest;
}
