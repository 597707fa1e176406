import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { BEFORE_THE_FIRST, isUntried } from '../../core/oauth/grant.ts';
import { CLAIM_RETURNED, type Ledger } from '../../core/oauth/ledger.ts';
import { type NewTokens, oauthClientSchema, readSecret, secretError, writeSecret } from '../../core/oauth/secrets.ts';
import { callTokenEndpoint } from '../../core/oauth/token-endpoint.ts';
import { type GrantPlaces, grantPlaces } from '../deployment-state.ts';
import { followToTheEnd } from '../runs/follow.ts';
import { startNamed } from '../runs/start-run.ts';
import { awsErrorText, REWRITE } from '../support/aws-error.ts';
import { commandFor } from '../support/command-options.ts';
import { askHidden, type Input } from '../support/confirm.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, codeOf, ENVIRONMENT, INTERRUPTED, RUN_FAILED, usageError } from '../support/exit.ts';
import { printErr, printOut, writeText } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { watchClock } from './aws-clock.ts';
import { type Consent, type ConsentOptions, callbackOf, consent, scopeAdvice } from './consent.ts';
import { standingGrant, storeGrant } from './store-grant.ts';

interface CommandOptions
  extends TargetOptions,
    Pick<AuthorizeOptions, 'clientId' | 'newSecret' | 'replace' | 'port' | 'redirectUri'> {
  run?: Entity;
  timeout: number;
  paste?: boolean;
  browser: boolean;
}

/** `authorize`: lets a person consent in a browser, and stores the grant. */
export async function authorizeAndPrint(options: CommandOptions): Promise<void> {
  const target = await connect(options);
  const { crm, entities } = await deployedConfiguration(target);
  // `emit` runs the handler of Ctrl-C at once. A real signal would arrive after the prompt has ended with an error.
  const interrupt = () => void process.emit('SIGINT');
  const input: Input = { stream: process.stdin, print: (text) => writeText(process.stderr, text), interrupt };
  const person = process.stdin.isTTY ? input : undefined;
  const paste = options.paste ? input : person;
  const done = await untilInterrupted('Interrupted. Nothing was stored.', (signal) =>
    authorize(target, {
      ...options,
      crm,
      configuration: `config/${options.deployment}.json`,
      clientSecret: process.env.CRM_CLIENT_SECRET,
      askSecret: person && ((id) => askHidden(person, `Secret of the OAuth client ${id} (not shown): `)),
      timeoutSeconds: options.timeout,
      paste,
      onUrl: (url, redirectUri, page) => show(url, redirectUri, page, { ...options, pasting: paste !== undefined }),
      onWait: () => printOut('The grant is being refreshed or replaced. Waiting for up to a minute.'),
      signal,
    }),
  );
  for (const note of done.notes) printOut(`Note: ${note}`);
  const { secret, versionId, scope, expiresAt } = done;
  printOut(
    `Authorized. Stored in ${secret}; VersionId: ${versionId}; scopes: ${scope || 'none of those requested'}; the access token expires at ${expiresAt ?? 'an unknown time'}; refresh token: yes.`,
  );
  if (options.run) return firstRun(target, options.run, options);
  // An enabled entity, because the nightly export fetches it anyway.
  const first = ENTITIES.find((entity) => entities[entity].enabled) ?? ENTITIES[0];
  const next = commandFor(`start ${first} --wait`, options);
  printOut(`Next, while you can still consent again, test this grant with a run, which refreshes it: ${next}`);
}

function show(
  url: string,
  redirectUri: string,
  page: string | undefined,
  options: CommandOptions & { pasting: boolean },
) {
  printOut(`Open: ${url}`);
  if (page) {
    const port = new URL(redirectUri).port || 80;
    printOut(`Waiting for the browser at ${redirectUri}, ${options.timeout} seconds at most.`);
    printOut(
      `Is the browser on another machine? There: ssh -L ${port}:127.0.0.1:${port} THIS-MACHINE, then open the address.`,
    );
  }
  if (options.pasting) {
    printOut(
      'Or paste here the address that the browser was redirected to at the end, or the code in it (it is not shown), and press Enter.',
    );
  }
  if (page && options.browser && process.stdout.isTTY) openBrowser(page);
}

/** Opens the system's browser, which gets no secret. If none opens, the user still has the printed address. */
function openBrowser(page: string): void {
  const { CRM_CLIENT_SECRET: _, ...env } = process.env;
  const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' };
  spawn(openers[process.platform] ?? 'xdg-open', [page], { stdio: 'ignore', detached: true, env })
    .on('error', () => undefined)
    .unref();
}

/** Starts a run right away, so that a problem with the new grant shows now and not at night. */
async function firstRun(target: Target, entity: Entity, options: CommandOptions): Promise<void> {
  const started = await startNamed(target, entity, {}, options);
  await followToTheEnd(target, [started], options);
  const places = grantPlaces(target);
  const tokenSet = await standingGrant(places.store);
  if (!tokenSet || !isUntried(tokenSet.tokens)) return;
  // If the CRM does not rotate refresh tokens, a run succeeds even if its function could not store the new tokens.
  if (await places.ledger.read(tokenSet.versionId)) {
    const what = 'The functions refreshed the grant, but could not store it';
    throw new CommandError(`${what}. ${REWRITE}.`, RUN_FAILED);
  }
  // A running function keeps its access token until that expires, even after a new authorization.
  const again = commandFor(`start ${entity} --wait`, options);
  printErr(
    `The run did not refresh the grant, because its functions still had a valid access token. After that token expires, in about an hour, start another run: ${again}`,
  );
}

export type GrantTarget = Pick<Target, 'secrets' | 'dynamo' | 'ClientSecretId' | 'TokensSecretId' | 'LedgerTableName'>;

export interface AuthorizeOptions extends ConsentOptions {
  crm: OAuthSettings;
  /** Default: the stored client. */
  clientId?: string | undefined;
  /** The value of CRM_CLIENT_SECRET. It is never an argument, because other users of the machine could read that. */
  clientSecret?: string | undefined;
  /** The secret of the stored client has changed. */
  newSecret?: boolean | undefined;
  /** Asks a person for the secret of this client, without echo; left out if there is no person to ask. */
  askSecret?: ((clientId: string) => Promise<string | undefined>) | undefined;
  port?: number | undefined;
  /** For services that compare the redirect URI exactly; see `callbackOf`. */
  redirectUri?: string | undefined;
  /** Allows a grant with fewer scopes to replace one that works. */
  replace?: boolean | undefined;
  /** Called when the command has to wait because another process holds the grant. */
  onWait?: (() => void) | undefined;
}

/**
 * The authorization code flow with PKCE (RFC 7636), `state`, and a loopback listener (RFC 8252). Checks the permissions
 * to store its result before the person consents.
 * @returns what is printed: never a token
 * @throws CommandError, RunError; after the consent a CommandError that says whether the new grant is stored
 */
export async function authorize(target: GrantTarget, options: AuthorizeOptions) {
  const { crm, signal } = options;
  const callback = callbackOf(options);
  if (callback.hosts.length === 0 && !options.paste) {
    const what = 'This command cannot listen at the redirect URI, which is not an address of this machine';
    throw usageError(`${what}. Run it in a terminal, or pipe the answer of the CRM in with --paste.`);
  }
  const clock = watchClock(target.secrets);
  const places = grantPlaces(target);
  const storedClient = await checkPermissions(target, places.ledger);
  const client = await chooseClient(storedClient, target.ClientSecretId, options);
  signal?.throwIfAborted();
  const consented = await consent(client.clientId, callback, options);
  let authorization: number | undefined;
  try {
    // The number is taken right before the exchange: of two commands at once, the later exchange gets the higher
    // number.
    authorization = await withRetries(async () => {
      const standing = await standingGrant(places.store);
      return places.ledger.takeNumber((standing?.tokens.authorization ?? 0) + 1);
    });
    const { tokens, notes } = await exchangeCode(client, consented, options, clock.now);
    signal?.throwIfAborted();
    const { clientId, clientSecret, stored } = client;
    const isStored = stored?.clientId === clientId && stored.clientSecret === clientSecret;
    const writeClient = () => writeSecret(target.secrets, target.ClientSecretId, { clientId, clientSecret });
    const deps = {
      ...places,
      ...(!isStored && { writeClient }),
      needed: options.replace ? [] : crm.scopes,
      // Functions compare the claim with their own clock, which runs on AWS time.
      now: () => clock.now().getTime(),
      onWait: options.onWait,
      signal,
    };
    // A function refreshes a grant at once if no function has stored it.
    const granted = { ...tokens, clientId, authorization, functionStoredAt: null };
    const { versionId } = await withRetries(() => storeGrant(granted, deps));
    const { scope, expiresAt } = tokens;
    return { secret: target.TokensSecretId, versionId, scope, expiresAt, notes };
  } catch (error) {
    throw await endedAfterConsent(error, places, authorization, signal);
  }
}

/** Repeats an action after transient errors, for some 15 seconds, so that a person need not consent again. */
async function withRetries<T>(action: () => Promise<T>): Promise<T> {
  for (let wait = 500; ; wait *= 2) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof RunError && error.transient) || wait > 8000) throw error;
      await sleep(wait);
    }
  }
}

/** The error that ended the command after the consent, with a sentence about which grant is stored. */
async function endedAfterConsent(
  error: unknown,
  places: GrantPlaces,
  authorization: number | undefined,
  signal: AbortSignal | undefined,
): Promise<CommandError> {
  const { answer: standing, isRead } = await standingGrant(places.store).then(
    (answer) => ({ answer, isRead: true }),
    () => ({ answer: undefined, isRead: false }),
  );
  const { authorization: number = 0 } = standing?.tokens ?? {};
  const again = authorization !== undefined && number > authorization ? '' : ': authorize again';
  const stands =
    number === authorization
      ? 'The new grant is stored and in use.'
      : `The consent was given, but ${isRead ? 'its grant is not stored' : 'the stored grant could not be read'}${again}. The CRM may have ended the ${again ? 'earlier' : 'later'} grant; doctor --refresh shows whether it still works.`;
  const exitCode = error instanceof CommandError ? error.exitCode : error instanceof RunError && codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (signal?.aborted) return new CommandError(`Interrupted. ${stands}`, INTERRUPTED, { cause: error });
  return new CommandError(`${message} ${stands}`, exitCode || RUN_FAILED, { cause: error });
}

/**
 * Chooses the stored client, or the client of the options with a given or typed secret. An unreadable stored value
 * counts as missing.
 * @returns the client, where its secret comes from (for messages), and the client that the secret holds now
 * @throws CommandError (exit code 2)
 */
async function chooseClient(
  storedText: string | undefined,
  secretId: string,
  { crm, newSecret, askSecret, ...requested }: AuthorizeOptions,
) {
  const stored = parseJson(oauthClientSchema, storedText);
  const clientId = requested.clientId ?? stored?.clientId;
  if (clientId === undefined) {
    throw usageError(
      `The secret ${secretId} holds no OAuth client: give its id with --client-id, and its secret in the environment variable CRM_CLIENT_SECRET.`,
    );
  }
  const client = { clientId, stored };
  if (requested.clientSecret)
    return { ...client, clientSecret: requested.clientSecret, source: 'came from CRM_CLIENT_SECRET' };
  const keepsStored = requested.clientId === undefined && !newSecret && stored?.clientSecret;
  if (keepsStored) return { ...client, clientSecret: keepsStored, source: 'is the stored one' };
  const hasNoSecret = crm.clientAuthentication === 'none';
  const typed = hasNoSecret ? '' : await askSecret?.(clientId);
  if (typed || hasNoSecret) return { ...client, clientSecret: typed ?? '', source: 'was typed' };
  throw usageError(
    'The secret of the client is missing: give it in the environment variable CRM_CLIENT_SECRET. The stored secret is used only without --client-id and --new-secret.',
  );
}

const TIMEOUT_MS = 30_000;

/**
 * Exchanges the code once: a second attempt may make the CRM revoke the tokens of the first.
 * @throws CommandError that says what to change; the command has stored nothing then
 */
async function exchangeCode(
  client: Awaited<ReturnType<typeof chooseClient>>,
  { code, redirectUri, verifier }: Consent,
  { crm, configuration }: AuthorizeOptions,
  now: () => Date,
): Promise<{ tokens: NewTokens; notes: string[] }> {
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier } as const;
  const scope = crm.scopes.join(' ');
  const answer = await callTokenEndpoint({ crm, client, grant, scope, timeoutMs: TIMEOUT_MS, now });
  if (answer.kind === 'granted') {
    const { refreshToken } = answer.tokens;
    if (refreshToken) {
      const tokens = { ...answer.tokens, refreshToken };
      return { tokens, notes: notesOn(tokens, crm.scopes) };
    }
    const what = 'The CRM issued no refresh token, and no nightly run works without one';
    const usual = 'many services issue one only for the scope "offline_access"';
    throw new CommandError(`${what}; ${usual}. ${scopeAdvice({ crm, configuration })}`, RUN_FAILED);
  }
  if (answer.code === 'invalid_scope') throw usageError(`${answer.message} ${scopeAdvice({ crm, configuration })}`);
  // A 401 of the token endpoint is about the client, unless its error code names the authorization code.
  const isAboutClient = answer.status === 401 && !['elsewhere', 'invalidGrant'].includes(answer.kind);
  if (!isAboutClient && answer.code !== 'invalid_client') throw new CommandError(answer.message, RUN_FAILED);
  // The command does not try another way by itself: a service may lock the client.
  const how = crm.clientAuthentication;
  const others = ['basic', 'basic_raw', 'post'].filter((other) => other !== how).map((other) => `"${other}"`);
  throw usageError(
    `${answer.message} The secret of the client ${client.source}: set CRM_CLIENT_SECRET to another secret, or unset that variable and type the secret with --new-secret. If its id (--client-id) and its secret are right, set crm.clientAuthentication to ${others.join(' or ')} in ${configuration} (it is "${how}").`,
  );
}

/** Access tokens with a shorter life are refreshed so often that the secret runs out of versions. */
const SHORT_LIFE_MS = 20 * 60_000;

function notesOn({ expiresAt, obtainedAt, scope }: NewTokens, requested: string[]): string[] {
  const life = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - Date.parse(obtainedAt);
  const withheld = requested.filter((name) => !scope.split(' ').includes(name));
  return [
    withheld.length > 0 ? `The CRM did not grant all requested scopes. Missing: ${withheld.join(', ')}.` : '',
    life < SHORT_LIFE_MS
      ? `An access token is valid for only ${Math.round(life / 60_000)} minutes: ask the operator of the CRM for 20 or more.`
      : '',
  ].filter(Boolean);
}

/**
 * Checks the permissions before a person consents: reads and writes both secrets and the ledger without changing them.
 * @returns the value of the secret of the client; `undefined` before the first authorization
 * @throws CommandError (exit code 3)
 */
async function checkPermissions(target: GrantTarget, ledger: Ledger) {
  try {
    const client = await rewriteSecret(target.secrets, target.ClientSecretId);
    const tokens = await rewriteSecret(target.secrets, target.TokensSecretId);
    const versionId = tokens?.versionId ?? BEFORE_THE_FIRST;
    await ledger.read(versionId);
    // No such claim exists, so the condition of the write fails. Without the right to write, AWS answers AccessDenied.
    await ledger.end({ versionId, owner: randomUUID() }, CLAIM_RETURNED);
    return client?.text;
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const why = [error.message, error.transient && awsErrorText(error)].filter(Boolean).join(' ');
    throw new CommandError(`${why} No consent was requested yet.`, ENVIRONMENT, { cause: error });
  }
}

const INCOMPLETE = /^(InvalidRequest|InvalidParameter|Validation)Exception/;

/** Writes the current value again under its own VersionId. According to the AWS documentation this changes nothing. */
async function rewriteSecret(client: SecretsManagerClient, SecretId: string) {
  const stored = await readSecret(client, SecretId);
  const { versionId, text } = stored ?? {};
  const same = stored && { ClientRequestToken: versionId, SecretString: text, VersionStages: ['AWSCURRENT'] };
  await client.send(new PutSecretValueCommand({ SecretId, ...same })).catch((error: unknown) => {
    // A put without a value is invalid, but AWS says so only to callers with the right to put.
    if (stored || !INCOMPLETE.test(String(error))) throw secretError('written', SecretId, error);
  });
  return stored;
}
