import type { Deployment } from '../../core/config/deployment.ts';
import { type OAuthClient, oauthClientSchema, parseSecret, type StoredClient } from '../../core/oauth/secrets.ts';
import { CommandError, USAGE } from '../support/exit.ts';

export interface ClientOptions {
  crm: Pick<Deployment['crm'], 'clientAuthentication'>;
  /** Default: the stored client. */
  clientId?: string | undefined;
  /** The value of CRM_CLIENT_SECRET. It is never an argument, because other users of the machine could read that. */
  clientSecret?: string | undefined;
  /** The secret of the stored client has changed. */
  newSecret?: boolean | undefined;
  /** Asks a person for the secret of this client, without echo; left out if there is no person to ask. */
  askSecret?: ((clientId: string) => Promise<string | undefined>) | undefined;
}

/** The client to authorize with. */
export interface ChosenClient extends OAuthClient {
  /** The client that is stored now; `undefined` if there is no stored client or it cannot be read. */
  stored: StoredClient | undefined;
  from: 'stored' | 'CRM_CLIENT_SECRET' | 'typed';
}

/**
 * Chooses the stored client with its secret, or a client whose secret is given or typed.
 * @param stored value of the client secret, not parsed
 * @throws CommandError (exit code 2), RunError `ConfigInvalid` when the stored client is needed and cannot be read
 */
export async function chooseClient(
  stored: string | undefined,
  secretId: string,
  options: ClientOptions,
): Promise<ChosenClient> {
  const known = readable(stored, secretId);
  const clientId = options.clientId ?? known?.clientId ?? storedClient(stored, secretId).clientId;
  const client = { clientId, stored: known };
  if (options.clientSecret)
    return another({ ...client, clientSecret: options.clientSecret, from: 'CRM_CLIENT_SECRET' }, options);
  if (options.clientId === undefined && !options.newSecret && known?.clientSecret) {
    return { ...client, clientSecret: known.clientSecret, from: 'stored' };
  }
  return another({ ...client, clientSecret: await missing(clientId, options), from: 'typed' }, options);
}

/** Rejects a "new" secret that equals the stored one: the CRM would only report a wrong secret. */
function another(client: ChosenClient, { newSecret }: ClientOptions): ChosenClient {
  if (!newSecret || client.clientSecret !== client.stored?.clientSecret) return client;
  const where = client.from === 'typed' ? 'was typed' : 'is in CRM_CLIENT_SECRET';
  throw new CommandError(`The secret that ${where} is stored already: give another, or leave out --new-secret.`, USAGE);
}

function readable(stored: string | undefined, secretId: string): StoredClient | undefined {
  try {
    return stored === undefined ? undefined : parseSecret(secretId, stored, oauthClientSchema);
  } catch {
    return undefined; // the caller reports it, if it needs this client
  }
}

function storedClient(stored: string | undefined, secretId: string): OAuthClient {
  if (stored !== undefined) return parseSecret(secretId, stored, oauthClientSchema);
  throw new CommandError(
    `The secret ${secretId} holds no OAuth client yet: give its id with --client-id, and its secret in the environment variable CRM_CLIENT_SECRET.`,
    USAGE,
  );
}

async function missing(clientId: string, { crm, newSecret, askSecret }: ClientOptions): Promise<string> {
  if (crm.clientAuthentication === 'none') {
    if (!newSecret) return '';
    throw new CommandError(
      '--new-secret makes no sense: by crm.clientAuthentication ("none") the client has no secret.',
      USAGE,
    );
  }
  const asked = await askSecret?.(clientId);
  if (asked) return asked;
  throw new CommandError(
    'The secret of the client is missing: give it in the environment variable CRM_CLIENT_SECRET. Only without --client-id and --new-secret the stored one is used.',
    USAGE,
  );
}
