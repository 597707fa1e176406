/** The SDK waits without end by default. */
export const AWS_LIMITS = { requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 } };

/**
 * Limits of calls under a claim of the ledger, which a hung connection must not outlive; the SDK repeats a call twice.
 */
export const LEASE_LIMITS = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
};

/** Limits of a command that asks many deployments: a call that takes longer has failed, and is repeated once. */
export function limitsOf(seconds: number) {
  const timeout = seconds * 1000;
  const requestHandler = { connectionTimeout: timeout, requestTimeout: timeout, socketTimeout: timeout };
  return { requestHandler: { ...requestHandler, throwOnRequestTimeout: true }, maxAttempts: 2 };
}
