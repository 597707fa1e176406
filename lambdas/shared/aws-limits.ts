/** For clients of AWS: the SDK waits for ever by itself; a connection that says nothing for this long is dead. */
export const AWS_LIMITS = { requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 } };
