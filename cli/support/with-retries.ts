import { setTimeout as sleep } from 'node:timers/promises';
import { RunError } from '../../core/errors.ts';

interface Time {
  /** A clock that only runs forward, milliseconds. */
  elapsed: () => number;
  sleep: (ms: number) => Promise<unknown>;
}

/** Well before the claim under which the grant is stored ends. */
const LONGEST_MS = 20_000;

/** Repeats an action after transient errors, with waits that double: a person who consented should not have to again. */
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
