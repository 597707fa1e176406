import { createHash, randomBytes } from 'node:crypto';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { RunError } from '../../core/errors.ts';
import { createGrantStore } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { type OAuthClient, type Tokens, writeOAuthClient } from '../../core/oauth/secrets.ts';
import { type Clock, watchClock } from '../support/aws-clock.ts';
import { CommandError, codeOf, USAGE } from '../support/exit.ts';
import type { Input } from '../support/hidden-input.ts';
import type { Target } from '../support/target.ts';
import { withRetries } from '../support/with-retries.ts';
import type { Expected } from './authorization-answer.ts';
import { awaitAnswer } from './await-answer.ts';
import { listenForCallback } from './callback-listener.ts';
import { exchangeCode } from './exchange-code.ts';
import { type ChosenClient, type ClientOptions, chooseClient } from './oauth-client-choice.ts';
import { promptForPaste } from './paste-prompt.ts';
import { checkPermissions } from './permission-check.ts';
import { type Callback, callbackOf } from './redirect-uri.ts';
import { storeGrant } from './store-grant.ts';

export interface AuthorizeOptions extends ClientOptions {
  crm: OAuthSettings;
  /** Where a person changes the configuration. */
  configuration?: string;
  port?: number | undefined;
  /** For services that compare it letter by letter; see `callbackOf`. */
  redirectUri?: string | undefined;
  timeoutSeconds?: number | undefined;
  /** Where the answer may be pasted. */
  paste?: Input | undefined;
  /** Shows the address to the person who is to consent, or opens it; what it throws ends the authorization. */
  onUrl: (url: string, waiting: { redirectUri: string; listening: boolean }) => unknown;
  /** Something else holds the grant for the moment, and is waited for. */
  onWait?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

type Places = Pick<Target, 'secrets' | 'dynamo' | 'ClientSecretId' | 'TokensSecretId' | 'LedgerTableName'>;

/** What a person may be told of an authorization: never a token. */
export interface Authorized {
  secret: string;
  versionId: string;
  scope: string;
  expiresAt: string | null;
  notes: string[];
}

const FIVE_MINUTES = 300;

/**
 * The authorization code flow with PKCE (RFC 7636), `state`, and a loopback listener (RFC 8252). Checks the permissions to
 * store its result before the person consents.
 * @throws CommandError, RunError
 */
export async function authorize(target: Places, options: AuthorizeOptions): Promise<Authorized> {
  const { crm, configuration = 'config/NAME.json', signal } = options;
  const callback = callbackOf(options);
  if (callback.hosts.length === 0 && !options.paste) {
    throw new CommandError(
      'Nothing can listen at this redirect URI: its answer can only be pasted, in a terminal or with --paste.',
      USAGE,
    );
  }
  signal?.throwIfAborted();
  const clock = watchClock(target.secrets);
  const stored = await checkPermissions(target);
  const client = await chooseClient(stored.client, target.ClientSecretId, options);
  const verifier = randomBytes(32).toString('base64url');
  const expected = { state: randomBytes(32).toString('base64url'), crm, configuration };
  const { code, redirectUri } = await consent(client, callback, expected, verifier, options);
  const grant = { grant_type: 'authorization_code' as const, code, redirect_uri: redirectUri, code_verifier: verifier };
  const { tokens, notes } = await exchangeCode(client, grant, { crm, configuration, now: clock.now });
  const versionId = await store(target, client, tokens, { clock, ...options }).catch((error: unknown) => {
    throw notStored(error);
  });
  const { expiresAt } = tokens;
  return { secret: target.TokensSecretId, versionId, scope: tokens.scope, expiresAt, notes };
}

async function store(
  target: Places,
  { clientId, clientSecret, isNew }: ChosenClient,
  tokens: Tokens,
  { clock, onWait }: { clock: Clock } & Pick<AuthorizeOptions, 'onWait'>,
): Promise<string> {
  const used = { clientId, clientSecret };
  if (isNew) await withRetries(() => writeOAuthClient(target.secrets, target.ClientSecretId, used));
  const { versionId } = await storeGrant(tokens, {
    store: createGrantStore(target.secrets, target.TokensSecretId),
    ledger: createLedger(target.dynamo, target.LedgerTableName, target.TokensSecretId),
    // Functions compare the claim with their own clock, that of AWS.
    now: () => clock.now().getTime(),
    onWait,
  });
  return versionId;
}

/** The list of errors advises about runs; what this person has to do is something else. */
function notStored(error: unknown): unknown {
  if (!(error instanceof RunError)) return error;
  const advice = 'The consent was given, but the grant is not stored: mend this, then authorize again.';
  return new CommandError(`${error.message} ${advice}`, codeOf(error), { cause: error });
}

/** The code of a person who consented, by the browser or by paste, whichever comes first. */
async function consent(
  client: OAuthClient,
  callback: Callback,
  expected: Expected,
  verifier: string,
  options: AuthorizeOptions,
): Promise<{ code: string; redirectUri: string }> {
  const { onUrl, paste, timeoutSeconds = FIVE_MINUTES, signal } = options;
  const listener = callback.hosts.length > 0 ? await listenForCallback(expected, callback) : undefined;
  const redirectUri = listener?.redirectUri ?? callback.uriAt(callback.port);
  const url = authorizationUrl(expected, client.clientId, redirectUri, verifier);
  // In the next tick, so that what it throws is caught below.
  const shown = Promise.resolve().then(() => onUrl(url, { redirectUri, listening: listener !== undefined }));
  const prompt = paste && promptForPaste(expected, paste);
  try {
    const channels = [...(listener ? [listener] : []), ...(prompt ? [prompt] : [])];
    return { code: await awaitAnswer(shown, channels, { timeoutSeconds, signal }), redirectUri };
  } finally {
    prompt?.close();
    listener?.close();
  }
}

function authorizationUrl({ crm, state }: Expected, clientId: string, redirectUri: string, verifier: string): string {
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
