import { randomBytes, randomUUID } from 'node:crypto';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { RunError } from '../../core/errors.ts';
import { BEFORE_THE_FIRST, createGrantStore } from '../../core/oauth/grant.ts';
import { createLedger, GIVEN_BACK } from '../../core/oauth/ledger.ts';
import { type NewTokens, type StoredClient, writeOAuthClient } from '../../core/oauth/secrets.ts';
import { callTokenEndpoint, type Grant } from '../../core/oauth/token-endpoint.ts';
import { RESTORE } from '../support/aws-error.ts';
import { CommandError, codeOf, ENVIRONMENT, INTERRUPTED, RUN_FAILED, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Clock, watchClock } from './aws-clock.ts';
import { type ConsentOptions, callbackOf, consent, scopeAdvice } from './consent.ts';
import { type ChosenClient, type ClientOptions, chooseClient } from './oauth-client-choice.ts';
import {
  type GrantPlaces,
  type Reached,
  refuseFewerScopes,
  STORED,
  standingGrant,
  storeAuthorization,
  whatStands,
  withRetries,
} from './store-grant.ts';

export interface AuthorizeOptions extends ClientOptions, ConsentOptions {
  crm: OAuthSettings;
  /** The configuration file, for messages. */
  configuration?: string;
  port?: number | undefined;
  /** For services that compare the redirect URI exactly; see `callbackOf`. */
  redirectUri?: string | undefined;
  /** Allows a grant with fewer scopes to replace one that works. */
  replace?: boolean | undefined;
  /** Called when the command has to wait because another process holds the grant. */
  onWait?: (() => void) | undefined;
}

/** The part of an authorization that is printed: never a token. */
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
    const { tokens, notes, authorization } = await newGrant(client, clock, places, options, reached);
    reached.tokens = tokens;
    if (!options.replace) await refuseFewerScopes(places, tokens, options.crm.scopes);
    signal?.throwIfAborted();
    const writeClient = (value: StoredClient) => writeOAuthClient(target.secrets, target.ClientSecretId, value);
    // Functions compare the claim with their own clock, which runs on AWS time.
    const deps = { ...places, now: () => clock.now().getTime(), onWait: options.onWait, signal };
    const { versionId } = await storeAuthorization(client, { ...tokens, authorization }, { ...deps, writeClient });
    return { secret: target.TokensSecretId, versionId, scope: tokens.scope, expiresAt: tokens.expiresAt, notes };
  } catch (error) {
    throw endedEarly(error, reached, await whatStands(places, reached), signal);
  }
}

/** Asks a person for consent and returns the new grant without storing it. @throws CommandError */
async function newGrant(
  client: ChosenClient,
  clock: Clock,
  places: GrantPlaces,
  options: AuthorizeOptions,
  reached: Reached,
) {
  const { crm, configuration = 'config/NAME.json', signal } = options;
  signal?.throwIfAborted();
  const verifier = randomBytes(32).toString('base64url');
  const expected = { state: randomBytes(32).toString('base64url'), crm, configuration };
  const { code, redirectUri } = await consent(client, callbackOf(options), expected, verifier, options);
  reached.consented = true;
  const grant = { grant_type: 'authorization_code' as const, code, redirect_uri: redirectUri, code_verifier: verifier };
  // Takes the number right before the exchange: of two simultaneous commands, the later exchange has the higher one.
  const { generation } = await withRetries(() => standingGrant(places));
  const least = (generation?.tokens.authorization ?? 0) + 1;
  const authorization = await withRetries(() => places.ledger.takeNumber(least));
  const exchanged = await exchangeCode(client, grant, { crm, configuration, now: clock.now });
  return { ...exchanged, authorization };
}

/** The error that ended the command, with a sentence about which grant is in use. */
function endedEarly(error: unknown, { tokens }: Reached, stands: string, signal?: AbortSignal): unknown {
  const cause = { cause: error };
  const lost = tokens && stands !== STORED;
  if (signal?.aborted) {
    const end = lost ? 'The consent was given, but the grant is not stored: authorize again. ' : '';
    return new CommandError(`Interrupted. ${end}${stands}`, INTERRUPTED, cause);
  }
  if (error instanceof CommandError) return new CommandError(`${error.message} ${stands}`, error.exitCode, cause);
  if (!(error instanceof RunError) || !tokens) return error;
  // The advice in the list of errors is for runs; this person has to do something else.
  const advice = lost ? 'The consent was given, but the grant is not stored: mend this, then authorize again. ' : '';
  return new CommandError(`${error.message} ${advice}${stands}`, codeOf(error), cause);
}

interface Exchange {
  crm: OAuthSettings;
  configuration: string;
  /** The clock for the timestamps of the tokens. */
  now: () => Date;
}

const TIMEOUT_MS = 30_000;
/** Tokens with a shorter life are renewed so often that the secret runs out of versions. */
const SHORT_LIFE_MS = 20 * 60_000;

/**
 * Exchanges the code once: a second attempt may make the CRM revoke the tokens of the first.
 * @throws CommandError that says what to change; the command has stored nothing then
 */
export async function exchangeCode(
  client: Omit<ChosenClient, 'stored'>,
  grant: Grant & { grant_type: 'authorization_code' },
  exchange: Exchange,
): Promise<{ tokens: NewTokens; notes: string[]; oddities: string[] }> {
  const { crm, now } = exchange;
  const scope = crm.scopes.join(' ');
  const answer = await callTokenEndpoint({ crm, client, grant, scope, timeoutMs: TIMEOUT_MS, now });
  if (answer.kind !== 'granted') throw refused(answer.message, client, exchange);
  const { refreshToken, ...rest } = answer.tokens;
  if (!refreshToken) {
    throw new CommandError(
      `The CRM gave no refresh token, without which no night works; many services give one for the scope "offline_access" only. ${scopeAdvice(exchange)} Nothing was stored.`,
      RUN_FAILED,
    );
  }
  const tokens = { ...rest, refreshToken };
  const { oddities } = answer;
  return { tokens, notes: notesOn(tokens, oddities, crm.scopes), oddities };
}

function refused(message: string, { from }: Pick<ChosenClient, 'from'>, exchange: Exchange): CommandError {
  const error = /: (invalid_client|invalid_scope)/.exec(message)?.[1];
  if (!error) {
    return new CommandError(`${message} Nothing was stored; authorize again, for a code works once.`, RUN_FAILED);
  }
  const advice = error === 'invalid_client' ? clientAdvice(from, exchange) : scopeAdvice(exchange);
  return new CommandError(`${message} ${advice} Nothing was stored.`, USAGE);
}

const OTHERS = {
  basic: '"basic_raw" or "post"',
  basic_raw: '"basic" or "post"',
  post: '"basic" or "basic_raw"',
  none: '"basic" or "post", if the client has a secret',
} satisfies Record<OAuthSettings['clientAuthentication'], string>;

const ANOTHER_SECRET = {
  stored:
    'The stored secret of the client was used: give another in CRM_CLIENT_SECRET, or add --new-secret to be asked for it.',
  CRM_CLIENT_SECRET:
    'The secret of the client came from CRM_CLIENT_SECRET: give another there, or unset it and add --new-secret to be asked for it.',
  typed: 'The secret of the client was typed: type another, or give it in CRM_CLIENT_SECRET.',
} satisfies Record<ChosenClient['from'], string>;

/** Advice for a client that the CRM rejects. The command does not retry by itself: a service may lock the client. */
function clientAdvice(
  from: ChosenClient['from'],
  { crm: { clientAuthentication: how }, configuration }: Exchange,
): string {
  return `${ANOTHER_SECRET[from]} If its id (--client-id) and its secret are right, set crm.clientAuthentication to ${OTHERS[how]} in ${configuration} (it is "${how}").`;
}

function notesOn({ expiresAt, obtainedAt, scope }: NewTokens, oddities: string[], requested: string[]): string[] {
  const life = expiresAt === null ? undefined : Date.parse(expiresAt) - Date.parse(obtainedAt);
  const given = new Set(scope.split(' '));
  const withheld = requested.filter((name) => !given.has(name));
  return [
    oddities.length > 0 ? `The token endpoint answers oddly: ${oddities.join(', ')}.` : '',
    withheld.length > 0 ? `The CRM did not give all scopes: ${withheld.join(', ')} is lacking.` : '',
    life !== undefined && life < SHORT_LIFE_MS
      ? `An access token lives ${Math.round(life / 60_000)} minutes only: ask the operator of the CRM for 20 or more.`
      : '',
  ].filter(Boolean);
}

export type GrantTarget = Pick<Target, 'secrets' | 'dynamo' | 'ClientSecretId' | 'TokensSecretId' | 'LedgerTableName'>;

/**
 * Checks the permissions before a person consents: reads and writes both secrets and the ledger without changing them.
 * @returns the value of the client secret; `undefined` before the first authorization
 * @throws CommandError (exit code 3)
 */
export async function checkPermissions(target: GrantTarget): Promise<string | undefined> {
  const { secrets, dynamo, ClientSecretId, TokensSecretId, LedgerTableName } = target;
  const client = await checkSecret(secrets, ClientSecretId);
  const tokens = await checkSecret(secrets, TokensSecretId);
  const ledger = createLedger(dynamo, LedgerTableName, TokensSecretId);
  const versionId = tokens?.VersionId ?? BEFORE_THE_FIRST;
  try {
    await ledger.read(versionId);
    // No such claim exists, so the condition of the write fails. Without the right to write, AWS answers AccessDenied.
    await ledger.end({ versionId, owner: randomUUID() }, GIVEN_BACK);
  } catch (error) {
    const what = `The table ${LedgerTableName}, in which the refreshes are recorded, could not be used (${nameOf(error)}).`;
    throw impossible(what, error);
  }
  return client?.SecretString;
}

/** Writes the current value again under its own VersionId. According to the AWS documentation this changes nothing. */
async function checkSecret(client: SecretsManagerClient, SecretId: string) {
  const current = await client
    .send(new GetSecretValueCommand({ SecretId, VersionStage: 'AWSCURRENT' }))
    .catch((error) => {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw impossible(`The secret ${SecretId} could not be read (${nameOf(error)}).`, error, SecretId);
    });
  // AWS refuses to read a secret without a value; the local cloud answers an empty text.
  const stored = current?.SecretString && current.VersionId ? current : undefined;
  try {
    const { VersionId, SecretString } = stored ?? {};
    const same = stored && { ClientRequestToken: VersionId, SecretString, VersionStages: ['AWSCURRENT'] };
    await client.send(new PutSecretValueCommand({ SecretId, ...same }));
  } catch (error) {
    // A put without a value is invalid, but AWS says so only to callers with the right to put.
    if (!stored && INCOMPLETE.has(nameOf(error))) return undefined;
    throw impossible(`The secret ${SecretId} could not be written (${nameOf(error)}).`, error);
  }
  return stored;
}

const INCOMPLETE = new Set(['InvalidRequestException', 'InvalidParameterException', 'ValidationException']);

/** The name of the AWS error, even if one of our errors wraps it. */
function nameOf(error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return error.cause.name;
  return error instanceof Error ? error.name : 'an unknown error';
}

/** @param readSecret the secret whose reading failed: AWS refuses to read a secret that is scheduled for deletion */
function impossible(what: string, error: unknown, readSecret?: string): CommandError {
  const advice = adviceFor(nameOf(error), readSecret);
  return new CommandError(`${what} ${advice} Nobody was asked to consent yet.`, ENVIRONMENT, { cause: error });
}

function adviceFor(name: string, secretId: string | undefined): string {
  if (/AccessDenied/.test(name)) return 'Use credentials that may read and write it.';
  if (name === 'ResourceNotFoundException') return `${RESTORE}.`;
  if (secretId && name === 'InvalidRequestException') {
    return `It is scheduled for deletion; to restore it: aws secretsmanager restore-secret --secret-id ${secretId}.`;
  }
  return 'Try again later.';
}
