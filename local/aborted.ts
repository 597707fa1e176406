/** Resolves when a signal aborts. Until then the process stays up, though nothing else keeps it alive. */
export async function aborted(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => undefined, 60_000);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  clearInterval(alive);
}
