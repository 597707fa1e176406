import { randomBytes } from 'node:crypto';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { RunError } from '../../core/errors.ts';
import { createGrantStore } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { type StoredClient, writeOAuthClient } from '../../core/oauth/secrets.ts';
import { CommandError, codeOf, INTERRUPTED, USAGE } from '../support/exit.ts';
import { type Clock, watchClock } from './aws-clock.ts';
import { type ConsentOptions, consent } from './consent.ts';
import { exchangeCode } from './exchange-code.ts';
import { type ChosenClient, type ClientOptions, chooseClient } from './oauth-client-choice.ts';
import { checkPermissions, type GrantTarget } from './permission-check.ts';
import { callbackOf } from './redirect-uri.ts';
import { type Reached, refuseFewerScopes, STORED, whatStands } from './standing-grant.ts';
import { storeAuthorization } from './store-authorization.ts';

export interface AuthorizeOptions extends ClientOptions, ConsentOptions {
  crm: OAuthSettings;
  /** Where a person changes the configuration. */
  configuration?: string;
  port?: number | undefined;
  /** For services that compare it letter by letter; see `callbackOf`. */
  redirectUri?: string | undefined;
  /** Stores a grant with fewer scopes over one that works. */
  replace?: boolean | undefined;
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
  const { signal } = options;
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
  const places = {
    store: createGrantStore(target.secrets, target.TokensSecretId),
    ledger: createLedger(target.dynamo, target.LedgerTableName, target.TokensSecretId),
  };
  const reached: Reached = {};
  try {
    const client = await chooseClient(stored, target.ClientSecretId, options);
    const { tokens, notes } = await newGrant(client, clock, options, reached);
    reached.tokens = tokens;
    if (!options.replace) await refuseFewerScopes(places, tokens, options.crm.scopes);
    signal?.throwIfAborted();
    const writeClient = (value: StoredClient) => writeOAuthClient(target.secrets, target.ClientSecretId, value);
    // Functions compare the claim with their own clock, that of AWS.
    const deps = { ...places, now: () => clock.now().getTime(), onWait: options.onWait, signal };
    const { versionId } = await storeAuthorization(client, tokens, { ...deps, writeClient });
    return { secret: target.TokensSecretId, versionId, scope: tokens.scope, expiresAt: tokens.expiresAt, notes };
  } catch (error) {
    throw endedEarly(error, reached, await whatStands(places, reached), signal);
  }
}

/** A grant that a person consents to now, stored nowhere. @throws CommandError */
async function newGrant(client: ChosenClient, clock: Clock, options: AuthorizeOptions, reached: Reached = {}) {
  const { crm, configuration = 'config/NAME.json', signal } = options;
  signal?.throwIfAborted();
  const verifier = randomBytes(32).toString('base64url');
  const expected = { state: randomBytes(32).toString('base64url'), crm, configuration };
  const { code, redirectUri } = await consent(client, callbackOf(options), expected, verifier, options);
  reached.consented = true;
  const grant = { grant_type: 'authorization_code' as const, code, redirect_uri: redirectUri, code_verifier: verifier };
  return exchangeCode(client, grant, { crm, configuration, now: clock.now });
}

/** What ended the command, and which grant counts now. */
function endedEarly(error: unknown, { tokens }: Reached, stands: string, signal?: AbortSignal): unknown {
  const cause = { cause: error };
  const lost = tokens && stands !== STORED;
  if (signal?.aborted) {
    const end = lost ? 'The consent was given, but the grant is not stored: authorize again. ' : '';
    return new CommandError(`Interrupted. ${end}${stands}`, INTERRUPTED, cause);
  }
  if (error instanceof CommandError) return new CommandError(`${error.message} ${stands}`, error.exitCode, cause);
  if (!(error instanceof RunError) || !tokens) return error;
  // The list of errors advises about runs; what this person has to do is something else.
  const advice = lost ? 'The consent was given, but the grant is not stored: mend this, then authorize again. ' : '';
  return new CommandError(`${error.message} ${advice}${stands}`, codeOf(error), cause);
}
