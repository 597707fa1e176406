import { setTimeout as sleep } from 'node:timers/promises';
import { TransferError, type TransferReason } from './transfer-error.ts';
import type { Limits } from './types.ts';

/** A failure that another attempt may mend. It never leaves the engine: what a budget cannot mend becomes a `TransferError`. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError';
  readonly reason: TransferReason;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: TransferReason, message: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** What was fetched so far is of no use: another file than before is at the origin now, or the upload is gone. */
export class StartOver extends Error {
  override readonly name = 'StartOver';
}

/** The end of a process is near. */
export class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';
}

/** Failures are forgiven once this much has been moved since. */
export const FORGIVEN_BYTES = 256 * 1024;

export interface RequestContext {
  limits: Limits;
  random: () => number;
  signal: AbortSignal;
  /** Told of every request. */
  count?: ((side: 'source' | 'store') => void) | undefined;
}

/** How many failures in a row one reader, or one call of the store, may have. Waits grow, with full jitter. */
export class RetryBudget {
  readonly #context: RequestContext;
  #failures = 0;
  #moved = 0;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  moved(bytes: number): void {
    this.#moved += bytes;
    if (this.#moved >= FORGIVEN_BYTES) this.#failures = 0;
  }

  /** Waits before the next attempt. @throws TransferError when there is to be none. */
  async spend(error: RetryableError): Promise<void> {
    const { limits, random, signal } = this.#context;
    this.#failures += 1;
    this.#moved = 0;
    const asked = error.retryAfterSeconds ?? 0;
    if (this.#failures >= limits.attempts || asked > limits.longestWaitSeconds) throw givenUp(error);
    // A fresh link is worth an attempt at once.
    if (error.reason === 'link-expired' && this.#failures === 1) return;
    const most = Math.min(limits.firstBackoffMs * 2 ** this.#failures, limits.largestBackoffMs);
    await sleep(Math.max(random() * most, asked * 1000), undefined, { signal });
  }
}

/** Repeats what fails with a `RetryableError` until it succeeds or its budget is used up. */
export async function withRetries<T>(context: RequestContext, attempt: () => Promise<T>): Promise<T> {
  const budget = new RetryBudget(context);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await budget.spend(error);
    }
  }
}

function givenUp({ reason, message, retryAfterSeconds, cause }: RetryableError): TransferError {
  return new TransferError(reason, message, { retryAfterSeconds, cause });
}
