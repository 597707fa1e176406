interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/**
 * Stands in for `@aws-sdk/credential-provider-node` in the bundles (`lib/workflow/bundling.ts`). Lambda gives a function in Node.js
 * its credentials in the environment and nowhere else; profiles, SSO, processes, web identity, containers and instances are
 * 140 KB of code, and the last of them loads an HTTP client that nobody uses.
 * @throws Error `CredentialsProviderError`, as the SDK's own provider does, when they are not there.
 */
export function defaultProvider(): () => Promise<Credentials> {
  return async () => {
    const {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
    } = process.env;
    if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
    const error = new Error("The function's environment has no AWS credentials.");
    error.name = 'CredentialsProviderError';
    throw error;
  };
}
