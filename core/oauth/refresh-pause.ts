import type { RunError } from '../errors.ts';

const LEAST_MS = 30_000;

/**
 * The pause after a failure: the container reads no secret for a while, and presents no token for as long as the CRM
 * requests.
 */
export class RefreshPause {
  #error: RunError | undefined;
  #lookAt = 0;
  #refreshAt = 0;

  /** Whether it is too early to read the secret again. */
  looksLater(now: Date): boolean {
    return now.getTime() < this.#lookAt;
  }

  /** Whether it is too early to refresh again. */
  refreshesLater(now: Date): boolean {
    return now.getTime() < this.#refreshAt;
  }

  /** The error of the last refresh or look; `undefined` where another function refreshes. */
  get error(): RunError | undefined {
    return this.#error;
  }

  /** @param error none where another function refreshes */
  begin(now: Date, error?: RunError): void {
    this.#lookAt = now.getTime() + LEAST_MS;
    if (this.refreshesLater(now)) return;
    this.#error = error;
    if (error) this.#refreshAt = now.getTime() + Math.max(LEAST_MS, (error.retryAfterSeconds ?? 0) * 1000);
  }
}
