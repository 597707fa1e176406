import type { Tokens } from './secrets.ts';
import { versionsExhausted } from './version-limit.ts';

/** The longest single call, and a difference of clocks. */
const HARD_MARGIN_MS = 30_000;
/** Refreshed ahead of its end by this, or by a fifth of its life if that is less. */
const SOFT_MARGIN_MS = 300_000;
/** Where the CRM does not say: unknown is not zero, and a 401 tells for certain. */
const UNKNOWN_LIFE_MS = 3_600_000;

/** `fresh`: use it. `ageing`: use it, but refresh it if nobody else does. `stale`: it must be refreshed. */
export type TokenFreshness = 'fresh' | 'ageing' | 'stale';

export function tokenFreshness(tokens: Tokens, rejected: string | undefined, now: Date): TokenFreshness {
  if (tokens.accessToken === rejected) return 'stale';
  const obtained = Date.parse(tokens.obtainedAt);
  const end = tokens.expiresAt === null ? undefined : Date.parse(tokens.expiresAt);
  const life = end === undefined ? UNKNOWN_LIFE_MS : end - obtained;
  const left = obtained + life - now.getTime();
  if (left > Math.min(SOFT_MARGIN_MS, life / 5)) return 'fresh';
  return end === undefined || left > HARD_MARGIN_MS ? 'ageing' : 'stale';
}

/** Whether no function has stored this grant refreshed since a person gave it. */
export function isUntried({ functionStoredAt }: Pick<Tokens, 'functionStoredAt'>): boolean {
  return functionStoredAt === null;
}

/**
 * A function refreshes an untried grant at once, a command does not: what is wrong with a right of the functions shows while the
 * person can consent again, and not in the night. Where no version is left for that, its token is used.
 */
export function grantFreshness(
  tokens: Tokens,
  rejected: string | undefined,
  { now, inFunction }: { now: () => Date; inFunction?: boolean },
): TokenFreshness {
  if (inFunction && isUntried(tokens) && !versionsExhausted(tokens, now())) return 'stale';
  return tokenFreshness(tokens, rejected, now());
}
