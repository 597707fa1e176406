import { createHash, randomBytes } from 'node:crypto';
import type { Deployment } from '../lambdas/shared/deployment.ts';
import { type OAuthClient, oauthClientSchema, readSecret, writeSecret } from '../lambdas/shared/oauth/secrets.ts';
import { requestTokens } from '../lambdas/shared/oauth/token-endpoint.ts';
import { listenForCallback, plain } from './callback-listener.ts';
import { CommandError, USAGE } from './exit.ts';
import type { Target } from './target.ts';

export interface AuthorizeOptions {
  crm: Deployment['crm'];
  /** Taken from the stored client where it is not given. */
  clientId?: string | undefined;
  /** From CRM_CLIENT_SECRET; never an argument, which other users of the machine could read. */
  clientSecret?: string | undefined;
  port?: number | undefined;
  /** Shows the address to the person who is to consent, or opens it; what it throws ends the authorization. */
  onUrl: (url: string) => unknown;
  signal?: AbortSignal | undefined;
}

/**
 * The authorization code flow with PKCE (RFC 7636) and `state`, and a listener on loopback (RFC 8252). Stores the client
 * and the grant in the secrets of the stack.
 * @returns what a person may be told: never a token
 * @throws CommandError, RunError
 */
export async function authorize(
  target: Pick<Target, 'secrets' | 'ClientSecretId' | 'TokensSecretId'>,
  options: AuthorizeOptions,
) {
  const client = await clientFor(target, options);
  const state = randomBytes(32).toString('base64url');
  const verifier = randomBytes(32).toString('base64url');
  const listener = await listenForCallback(state, options);
  try {
    const opened = Promise.resolve(
      options.onUrl(authorizationUrl(options.crm, client.clientId, listener.redirectUri, state, verifier)),
    ).then(() => listener.code);
    const grant = {
      grant_type: 'authorization_code' as const,
      code: await opened,
      redirect_uri: listener.redirectUri,
      code_verifier: verifier,
    };
    const asked = { scope: options.crm.scopes.join(' ') };
    const tokens = await requestTokens(options.crm, client, grant, asked, () => new Date());
    await writeSecret(target.secrets, target.ClientSecretId, client);
    await writeSecret(target.secrets, target.TokensSecretId, tokens);
    return { secret: target.TokensSecretId, scope: plain(tokens.scope), expiresAt: tokens.expiresAt };
  } finally {
    listener.close();
  }
}

async function clientFor(
  target: Pick<Target, 'secrets' | 'ClientSecretId'>,
  options: AuthorizeOptions,
): Promise<OAuthClient> {
  const { clientId, clientSecret = '' } = options;
  if (!clientId) return readSecret(target.secrets, target.ClientSecretId, oauthClientSchema);
  if (!clientSecret && options.crm.clientAuthentication !== 'none') {
    throw new CommandError(
      'The secret of the client is missing: give it in the environment variable CRM_CLIENT_SECRET.',
      USAGE,
    );
  }
  return { clientId, clientSecret };
}

function authorizationUrl(
  crm: Deployment['crm'],
  clientId: string,
  redirectUri: string,
  state: string,
  verifier: string,
): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: crm.scopes.join(' '),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `${crm.authUrl.replace(/\/$/, '')}/authorize?${query}`;
}
