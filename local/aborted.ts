import { once } from 'node:events';

/**
 * Resolves when a signal aborts. Until then the process stays up, though nothing else keeps it alive.
 * @throws what `ended` does, where that comes first
 */
export async function aborted(signal: AbortSignal, ended: Promise<never>): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, 60_000);
  try {
    await Promise.race([once(signal, 'abort'), ended]);
  } finally {
    clearInterval(alive);
  }
}
