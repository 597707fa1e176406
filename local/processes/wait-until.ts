import { setTimeout as delay } from 'node:timers/promises';

/** Checks a condition until it holds (true) or time is up (false). @throws the signal's reason when it is aborted */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  { withinMs, everyMs = 25, signal }: { withinMs: number; everyMs?: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() >= deadline) return false;
    signal?.throwIfAborted();
    await delay(everyMs);
  }
  return true;
}
