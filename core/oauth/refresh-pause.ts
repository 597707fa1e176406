import type { RunError } from '../errors.ts';

/** A service or a secret that refused is left alone for so long at least, whatever it asks for. */
const LEAST_MS = 30_000;

/**
 * After a refresh or look that failed: the container reads no secret for a while, and presents no token for as long as
 * the service asks for.
 */
export class RefreshPause {
  #error: RunError | undefined;
  #lookAt = 0;
  #refreshAt = 0;
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Whether it is too early to look again. */
  get looksLater(): boolean {
    return this.#now().getTime() < this.#lookAt;
  }

  /** Whether it is too early to refresh again. */
  get refreshesLater(): boolean {
    return this.#now().getTime() < this.#refreshAt;
  }

  /** Of the last refresh or look; `undefined` where another function refreshes. */
  get error(): RunError | undefined {
    return this.#error;
  }

  /** @param error what came of a refresh or a look; none where another function refreshes */
  begin(error?: RunError): void {
    const now = this.#now().getTime();
    this.#lookAt = now + LEAST_MS;
    if (this.refreshesLater) return;
    this.#error = error;
    if (error) this.#refreshAt = now + Math.max(LEAST_MS, (error.retryAfterSeconds ?? 0) * 1000);
  }
}
