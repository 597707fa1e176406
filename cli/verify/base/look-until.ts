import { setTimeout as sleep } from 'node:timers/promises';
import type { Verifying } from './verifying.ts';

/**
 * Looks until there is something, or patience ends.
 * @returns what was seen last
 * @throws the signal's reason
 */
export async function lookUntil<T>(
  look: () => Promise<T>,
  enough: (seen: T) => boolean,
  { pace, signal }: Pick<Verifying, 'pace' | 'signal'>,
): Promise<T> {
  const end = performance.now() + pace.patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (enough(seen) || performance.now() >= end) return seen;
    await sleep(pace.everyMs, undefined, { signal });
  }
}
