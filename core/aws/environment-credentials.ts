/**
 * Replaces `@aws-sdk/credential-provider-node` in the bundles (`lib/workflow/step-function.ts`). Lambda passes
 * credentials only in the environment, and the code for other sources has 140 KB.
 * @throws Error `CredentialsProviderError`, as the provider of the SDK does
 */
export function defaultProvider() {
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
