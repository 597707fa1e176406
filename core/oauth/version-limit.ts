import { RunError } from '../errors.ts';
import type { Tokens } from './secrets.ts';

const DAY_MS = 86_400_000;
/**
 * Generations within 24 hours. Secrets Manager removes no younger version, and refuses new ones at about 100: a token that
 * is spent then is lost. The rest is for `authorize`.
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html
 */
const MOST_VERSIONS_A_DAY = 95;

/** When the generations of the last 24 hours were obtained. Stored with the successor. */
export function obtainedLately({ earlierObtainedAt, obtainedAt }: Tokens, now: Date): string[] {
  return [...earlierObtainedAt, obtainedAt].filter((time) => now.getTime() - Date.parse(time) < DAY_MS);
}

/** Why a generation must not be spent now; `undefined` where it may be. */
export function versionsExhausted(tokens: Tokens, now: Date): RunError | undefined {
  const times = obtainedLately(tokens, now);
  if (times.length < MOST_VERSIONS_A_DAY) return undefined;
  const again = new Date(Math.min(...times.map((time) => Date.parse(time))) + DAY_MS).toISOString();
  const what = `${times.length} grants were stored in the secret of the tokens within 24 hours, and the next might be refused: none is refreshed before ${again}.`;
  return new RunError('SecretVersionsExhausted', what);
}
