import { setTimeout as sleep } from 'node:timers/promises';
import type { Limits } from './limits.ts';
import { RetryableError, TransferError } from './transfer-errors.ts';

/** Progress of this many bytes resets the count of failures. */
export const PROGRESS_BYTES = 256 * 1024;

/** The settings that all requests of a transfer share. */
export interface RequestContext {
  limits: Limits;
  random: () => number;
  signal: AbortSignal;
  /** Called for every request that is sent. */
  count?: ((side: 'source' | 'store') => void) | undefined;
}

/** The failures in a row that one reader, or one store request, may have. Waits grow, with full jitter. */
export class RetryBudget {
  readonly #context: RequestContext;
  #failures = 0;
  #moved = 0;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  moved(bytes: number): void {
    this.#moved += bytes;
    if (this.#moved >= PROGRESS_BYTES) this.#failures = 0;
  }

  /** Waits before the next attempt. @throws TransferError when the budget is used up */
  async waitAfter({ reason, message, retryAfterSeconds, cause }: RetryableError): Promise<void> {
    const { limits, random, signal } = this.#context;
    const requested = retryAfterSeconds ?? 0;
    this.#failures += 1;
    this.#moved = 0;
    if (this.#failures >= limits.attempts || requested > limits.longestWaitSeconds) {
      throw new TransferError(reason, message, { retryAfterSeconds, cause });
    }
    // The first expired link is renewed without a wait.
    if (reason === 'link-expired' && this.#failures === 1) return;
    const most = Math.min(limits.firstBackoffMs * 2 ** this.#failures, limits.largestBackoffMs);
    await sleep(Math.max(random() * most, requested * 1000), undefined, { signal });
  }
}

/** @throws TransferError when the budget is used up; any other error at once */
export async function withRetries<T>(context: RequestContext, attempt: () => Promise<T>): Promise<T> {
  const budget = new RetryBudget(context);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await budget.waitAfter(error);
    }
  }
}
