import { setTimeout as sleep } from 'node:timers/promises';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { PERSONAL_SCOPES, UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { ERRORS } from '../../core/errors.ts';
import { isUntried, type TokenSet, tokenFreshness, versionsExhausted } from '../../core/oauth/grant.ts';
import { isDead, LEASE_MS, type LedgerItem } from '../../core/oauth/ledger.ts';
import { type AccessTokenDeps, accessTokenDeps } from '../../core/oauth/refresh.ts';
import type { OAuthClient, Tokens } from '../../core/oauth/secrets.ts';
import { ENVIRONMENT, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { asciiText, countText, durationText } from '../support/text.ts';
import { broken, type Finding, holds, warning } from './check.ts';

/** Findings about the stored client and grant, and the dependencies of commands that refresh the grant. */

/** The commands that advice names. The function `checked` adds the options of the deployment. */
const AUTHORIZE = `${CRM_EXPORT} authorize`;
/** The command that starts the run that refreshes an untried grant. */
export const FIRST_RUN = `${CRM_EXPORT} start leads --wait`;

/** The dependencies of a command that refreshes the stored grant as a run does. */
export function grantDeps(target: Target, crm: OAuthSettings, now: () => Date): AccessTokenDeps {
  const { secrets, dynamo, ClientSecretId, TokensSecretId, LedgerTableName } = target;
  return accessTokenDeps({
    ...{ clientSecretId: ClientSecretId, tokensSecretId: TokensSecretId, ledgerTable: LedgerTableName },
    ...{ crm, now, secrets, dynamo, sleep, random: Math.random, authorizeCommand: AUTHORIZE },
    count: () => undefined,
    secondsLeft: () => Number.POSITIVE_INFINITY,
  });
}

interface Advising {
  now: Date;
  refreshCommand: string;
}

/** Whether the stored client is the client that received the grant, and matches the configuration. */
export function clientFinding(
  { clientId, clientSecret }: OAuthClient,
  tokens: Pick<Tokens, 'clientId'>,
  crm: OAuthSettings | undefined,
): Finding {
  if (tokens.clientId !== undefined && tokens.clientId !== clientId) {
    const text = 'The stored OAuth client is not the client that received the grant.';
    return broken(text, `Authorize again: ${AUTHORIZE}.`, USAGE);
  }
  if (clientSecret || !crm || crm.clientAuthentication === 'none') {
    return holds(`The OAuth client is stored (id of ${countText(clientId.length, 'character')}).`);
  }
  const text = `The client has no secret, but crm.clientAuthentication is "${crm.clientAuthentication}".`;
  return broken(text, `Set CRM_CLIENT_SECRET, then: ${AUTHORIZE} --new-secret.`, USAGE);
}

export function grantFinding({ versionId, tokens }: TokenSet, now: Date): Finding {
  const { obtainedAt, expiresAt } = tokens;
  const end = expiresAt === null ? 'its expiry is unknown' : `its access token expires at ${expiresAt}`;
  const exhausted = versionsExhausted(tokens, now);
  if (exhausted) return broken(exhausted.message, ERRORS.SecretVersionsExhausted.advice, ENVIRONMENT);
  return holds(`Token set ${versionId}, obtained at ${obtainedAt}; ${end}.`);
}

/**
 * The largest expected difference between two clocks. A claim counts as older than a lease only if it is older by more
 * than this difference.
 */
const CLOCKS_MS = 15_000;

/** Whether a run can spend the newest token set. */
export function ledgerFinding(item: LedgerItem | undefined, { now, refreshCommand }: Advising): Finding {
  const authorize = `Authorize again: ${AUTHORIZE}.`;
  if (!item) return holds('The ledger is reachable. The current token set is not claimed.');
  const { state, deadline, refusals } = item;
  const reason = item.reason && `: ${asciiText(item.reason).replace(/[.!?]*$/, '')}`;
  if (isDead(item)) {
    const dead = item.diedAt ? `has been dead since ${item.diedAt}` : 'is dead';
    return broken(`The grant ${dead}${reason}.`, authorize);
  }
  if (state === 'STORED') {
    const text = 'According to the ledger, the current token set has a successor, but the secret does not have it.';
    const advice = `Run the command again in a minute. If the problem remains, the successor was deleted: ${AUTHORIZE}.`;
    return broken(text, advice, ENVIRONMENT);
  }
  if (deadline === 0) return holds('The ledger is reachable. The current token set was claimed, but not spent.');
  const left = deadline - now.getTime();
  const claimedAt = new Date(deadline - LEASE_MS).toISOString();
  if (left < 0) {
    const text = `The current token set was claimed at ${claimedAt}, and its holder did not record a result`;
    const found = item.unanswered > 0 ? `${unansweredText(item)}${reason}` : text;
    return warning(`${found}.`, `The next run tries again; to try now: ${refreshCommand}.`);
  }
  if (left <= LEASE_MS + CLOCKS_MS) {
    const text = `The current token set has been claimed since ${claimedAt}: a refresh or an authorization is under way.`;
    return warning(text, 'Run the command again in a minute.');
  }
  const next = `${reason}. The next attempt is after ${new Date(deadline).toISOString()}.`;
  const refused = `Refreshes of the current token set were refused with an unrecognised error code (${countText(refusals, 'attempt')})`;
  if (refusals > 0) return broken(`${refused}${next}`, authorize);
  const advice = `Check whether the token endpoint answers. To get a new grant without waiting: ${AUTHORIZE}.`;
  return broken(`${unansweredText(item)}${next}`, advice, ENVIRONMENT);
}

function unansweredText({ unanswered, unansweredSince }: LedgerItem): string {
  const since = unansweredSince > 0 ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  return `No refresh of the current token set got a usable answer${since} (${countText(unanswered, 'attempt')})`;
}

export const GRANT_RIGHTS = [
  'secretsmanager:GetSecretValue on both secrets',
  'kms:Decrypt on the key, through Secrets Manager and DynamoDB',
];

/**
 * The question that `doctor` and `verify` ask. Only a refresh by a function shows that functions can store a refreshed
 * grant.
 */
export const GRANT_STORED = {
  id: 'grant-stored',
  question: 'When did a function last store a refreshed grant?',
  rights: GRANT_RIGHTS,
  mayBeUnknown: true,
};

export function storedFinding(tokens: Tokens): Finding {
  const { functionStoredAt, obtainedAt } = tokens;
  if (isUntried(tokens)) {
    return warning(
      `No function has refreshed the grant since a person gave it at ${obtainedAt}.`,
      `While that person can still consent again, start a run, which refreshes the grant: ${FIRST_RUN}.`,
    );
  }
  if (!functionStoredAt)
    return holds('The stored grant does not contain this time, because an earlier release stored it.');
  return holds(`At ${functionStoredAt}.`);
}

export function scopesFinding({ scope }: Tokens, needed: string[]): Finding {
  const held = scope.split(' ');
  const missing = needed.filter((name) => !held.includes(name));
  if (missing.length === 0) return holds(`The grant has all needed scopes: ${needed.join(' ')}.`);
  const text = `The grant lacks ${missing.join(' ')}.`;
  if (missing.every((name) => [...PERSONAL_SCOPES, UPDATE_SCOPE].includes(name))) {
    const advice = `No export needs these scopes. Remove them from the configuration, or request them again: ${AUTHORIZE}.`;
    return warning(text, advice);
  }
  const advice = `Let an administrator of the CRM grant them, or correct crm.scopes; then: ${AUTHORIZE}.`;
  return broken(text, advice);
}

/** The lifetime of the access token. An expired token is not an error: a run refreshes it. */
export function accessTokenFinding(tokens: Tokens, { now, refreshCommand }: Advising): Finding {
  if (tokens.expiresAt === null) {
    const text = 'The CRM does not say how long its access tokens are valid (no usable expires_in).';
    return warning(
      text,
      'The functions assume one hour, and refresh the token after a 401. Ask the operator of the CRM to send expires_in.',
    );
  }
  const end = Date.parse(tokens.expiresAt);
  const lives = `It is valid for ${durationText((end - Date.parse(tokens.obtainedAt)) / 1000)}`;
  if (tokenFreshness(tokens, now) === 'stale') {
    const text = `${lives} and is stale (it expires or expired at ${tokens.expiresAt}); the next run refreshes it.`;
    return warning(text, `To try this now: ${refreshCommand}.`);
  }
  return holds(`${lives} and has ${durationText((end - now.getTime()) / 1000)} left.`);
}

/** The result of one refresh: the token sets before and after the refresh. */
export function refreshFinding(before: TokenSet, after: TokenSet): Finding {
  if (after.versionId === before.versionId) {
    const text =
      'The CRM refreshed the grant, but its answer could not be stored. The old refresh token may be used up.';
    return broken(text, `Make sure that the secret can be written, then authorize again: ${AUTHORIZE}.`);
  }
  const { refreshToken, expiresAt, obtainedAt } = after.tokens;
  const rotation =
    refreshToken === before.tokens.refreshToken
      ? 'No rotation: the refresh token stays the same'
      : 'Rotation observed: the CRM issued a new refresh token';
  const life = expiresAt ? `${Math.round((Date.parse(expiresAt) - Date.parse(obtainedAt)) / 1000)} s` : 'unknown';
  return holds(`${rotation}; expires_in ${life}; stored as token set ${after.versionId}.`);
}
