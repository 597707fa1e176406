import { CommandError, RUN_FAILED } from '../support/exit.ts';

/** A way on which the code may come; whichever brings it first wins. */
export interface Channel {
  code: Promise<string>;
  /** Nothing will come on this way any more. Without it: it stays open. */
  ended?: Promise<void>;
}

interface Limits {
  timeoutSeconds: number;
  signal?: AbortSignal | undefined;
}

/**
 * Waits for the code.
 * @param shown settles when the address was shown to the person; what it throws ends the wait
 * @throws CommandError when a way ends in a refusal, when all channels have ended, or when the time is over
 */
export async function awaitAnswer(shown: Promise<unknown>, channels: Channel[], limits: Limits): Promise<string> {
  const { timeoutSeconds, signal } = limits;
  const { promise: over, reject } = Promise.withResolvers<never>();
  const late = `Nobody came back from the service within ${timeoutSeconds} seconds. Nothing was stored.`;
  const timer = setTimeout(() => reject(new CommandError(late, RUN_FAILED)), timeoutSeconds * 1000);
  const abort = () => reject(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  shown.catch(reject);
  const nothingComes = new CommandError('Nothing was pasted, and nothing was stored.', RUN_FAILED);
  void Promise.all(channels.map(({ ended = new Promise<void>(() => {}) }) => ended)).then(() => reject(nothingComes));
  try {
    return await Promise.race([over, ...channels.map(({ code }) => code)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
