/** By default the SDK has no timeouts. */
export const AWS_LIMITS = { requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 } };

/**
 * Timeouts of calls under a claim of the ledger: a hung call must end before the claim expires. The SDK retries a call twice.
 */
export const LEASE_LIMITS = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
};

/** Timeouts for calls that other work waits for. A call that takes longer fails, and the client retries it once. */
export function limitsOf(seconds: number) {
  const timeout = seconds * 1000;
  const requestHandler = { connectionTimeout: timeout, requestTimeout: timeout, socketTimeout: timeout };
  return { requestHandler: { ...requestHandler, throwOnRequestTimeout: true }, maxAttempts: 2 };
}

/** Timeouts for the read of a small object that a step waits for: it takes at most about 25 seconds. */
export const QUICK_READ_LIMITS = limitsOf(5);
