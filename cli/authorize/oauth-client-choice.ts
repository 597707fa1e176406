import type { Deployment } from '../../core/config/deployment.ts';
import { type OAuthClient, oauthClientSchema, parseSecret } from '../../core/oauth/secrets.ts';
import { CommandError, USAGE } from '../support/exit.ts';

export interface ClientOptions {
  crm: Pick<Deployment['crm'], 'clientAuthentication'>;
  /** Default: the stored client. */
  clientId?: string | undefined;
  /** The value of CRM_CLIENT_SECRET; it is never an argument, which other users of the machine could read. */
  clientSecret?: string | undefined;
  /** Asks a person for the secret of this client, without echo; left out where nobody is there to be asked. */
  askSecret?: ((clientId: string) => Promise<string | undefined>) | undefined;
}

/** The client to authorize with, and whether it has to be stored. */
export interface ChosenClient extends OAuthClient {
  isNew: boolean;
}

/**
 * The client that is given, completed by what is stored of the same client and then by asking.
 * @param stored value of the secret of the client, unread
 * @throws CommandError (exit code 2), RunError `ConfigInvalid` when the stored client is needed and cannot be read
 */
export async function chooseClient(
  stored: string | undefined,
  secretId: string,
  options: ClientOptions,
): Promise<ChosenClient> {
  const known = readable(stored, secretId);
  const clientId = options.clientId ?? known?.clientId ?? storedClient(stored, secretId).clientId;
  const standing = known?.clientId === clientId ? known : undefined;
  const clientSecret = options.clientSecret || standing?.clientSecret || (await missing(clientId, options));
  return { clientId, clientSecret, isNew: standing?.clientSecret !== clientSecret };
}

function readable(stored: string | undefined, secretId: string): OAuthClient | undefined {
  try {
    return stored === undefined ? undefined : parseSecret(secretId, stored, oauthClientSchema);
  } catch {
    return undefined; // whether that matters depends on what is given
  }
}

function storedClient(stored: string | undefined, secretId: string): OAuthClient {
  if (stored !== undefined) return parseSecret(secretId, stored, oauthClientSchema);
  throw new CommandError(
    `The secret ${secretId} holds no OAuth client yet: give its id with --client-id, and its secret in the environment variable CRM_CLIENT_SECRET.`,
    USAGE,
  );
}

async function missing(clientId: string, { crm, askSecret }: ClientOptions): Promise<string> {
  if (crm.clientAuthentication === 'none') return '';
  const asked = await askSecret?.(clientId);
  if (asked) return asked;
  throw new CommandError(
    'The secret of the client is missing: give it in the environment variable CRM_CLIENT_SECRET.',
    USAGE,
  );
}
