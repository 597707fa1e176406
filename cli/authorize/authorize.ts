import { randomBytes } from 'node:crypto';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { RunError } from '../../core/errors.ts';
import { createGrantStore } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { type NewTokens, writeOAuthClient } from '../../core/oauth/secrets.ts';
import { type Clock, watchClock } from '../support/aws-clock.ts';
import { CommandError, codeOf, USAGE } from '../support/exit.ts';
import { withRetries } from '../support/with-retries.ts';
import { type ConsentOptions, consent } from './consent.ts';
import { exchangeCode } from './exchange-code.ts';
import { type ChosenClient, type ClientOptions, chooseClient } from './oauth-client-choice.ts';
import { checkPermissions, type GrantTarget } from './permission-check.ts';
import { callbackOf } from './redirect-uri.ts';
import { storeGrant } from './store-grant.ts';

export interface AuthorizeOptions extends ClientOptions, ConsentOptions {
  crm: OAuthSettings;
  /** Where a person changes the configuration. */
  configuration?: string;
  port?: number | undefined;
  /** For services that compare it letter by letter; see `callbackOf`. */
  redirectUri?: string | undefined;
  /** Something else holds the grant for the moment, and is waited for. */
  onWait?: (() => void) | undefined;
}

/** What is shown of an authorization: never a token. */
export interface Authorized {
  secret: string;
  versionId: string;
  scope: string;
  expiresAt: string | null;
  notes: string[];
}

/**
 * The authorization code flow with PKCE (RFC 7636), `state`, and a loopback listener (RFC 8252). Checks the permissions to
 * store its result before the person consents.
 * @throws CommandError, RunError
 */
export async function authorize(target: GrantTarget, options: AuthorizeOptions): Promise<Authorized> {
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
  const client = await chooseClient(stored, target.ClientSecretId, options);
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
  target: GrantTarget,
  { clientId, clientSecret, isNew }: ChosenClient,
  tokens: NewTokens,
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
