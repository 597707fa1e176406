import { setTimeout as sleep } from 'node:timers/promises';
import { RunError } from '../../core/errors.ts';

interface Time {
  /** A clock that only runs forward, milliseconds. */
  elapsed: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

/** What cannot be stored within this is given up: well before the claim under which it is stored ends. */
const PATIENCE_MS = 20_000;

/**
 * Repeats what fails for a reason that passes, with waits that double. For what is done after a person has consented, who
 * cannot be asked again lightly.
 */
export async function withRetries<T>(
  action: () => Promise<T>,
  { elapsed, sleep: pause }: Time = { elapsed: () => performance.now(), sleep },
): Promise<T> {
  const start = elapsed();
  for (let wait = 500; ; wait *= 2) {
    try {
      return await action();
    } catch (error) {
      const passes = error instanceof RunError && error.transient;
      if (!passes || elapsed() + wait - start > PATIENCE_MS) throw error;
      await pause(wait);
    }
  }
}
