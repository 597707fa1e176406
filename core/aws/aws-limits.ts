/** For clients of AWS: the SDK waits for ever by itself; a connection that says nothing for this long is dead. */
export const AWS_LIMITS = { requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 } };

/** For what is done under a claim of the ledger, which a hung connection must not outlive; the SDK repeats a call twice. */
export const LEASE_LIMITS = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
};
