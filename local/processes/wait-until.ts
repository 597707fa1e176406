import { setTimeout as delay } from 'node:timers/promises';

/** How long to wait, and how often to look; milliseconds. */
export type Patience = { withinMs: number; everyMs?: number; signal?: AbortSignal | undefined };

/**
 * Looks at a condition again and again until it holds or the time is up.
 *
 * @returns whether the condition came to hold
 * @throws the signal's reason when it is aborted
 */
export async function waitUntil(condition: () => boolean | Promise<boolean>, patience: Patience): Promise<boolean> {
  const deadline = performance.now() + patience.withinMs;
  while (!(await condition())) {
    if (performance.now() >= deadline) return false;
    patience.signal?.throwIfAborted();
    await delay(patience.everyMs ?? 25);
  }
  return true;
}
