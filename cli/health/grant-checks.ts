import { CRM_EXPORT } from '../../core/commands.ts';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { PERSONAL_SCOPES, UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { ERRORS } from '../../core/errors.ts';
import { type Generation, isUntried, tokenFreshness, versionsExhausted } from '../../core/oauth/grant.ts';
import { LEASE_MS, type LedgerItem } from '../../core/oauth/ledger.ts';
import { clientOf, type StoredClient, type Tokens } from '../../core/oauth/secrets.ts';
import type { TokenAnswer } from '../../core/oauth/token-endpoint.ts';
import { ENVIRONMENT, USAGE } from '../support/exit.ts';
import { durationText, plain } from '../support/text.ts';
import { broken, type Finding, holds, warning } from './check.ts';

/** Findings about the stored client and grant, and about their use. */

/** The time and the commands that the findings need besides the grant. */
export interface Advising {
  now: Date;
  authorizeCommand: string;
  /** The command that refreshes the grant. */
  refreshCommand: string;
}

/** Whether the stored client matches the configuration. */
export function clientFinding(
  stored: StoredClient,
  tokens: Pick<Tokens, 'clientId'>,
  crm: OAuthSettings | undefined,
  { authorizeCommand }: Advising,
): Finding {
  const client = clientOf(stored, tokens);
  if (!client) {
    const text = 'Another OAuth client is stored than the grant was given to.';
    return broken(text, `Authorize again: ${authorizeCommand}.`, USAGE);
  }
  const { clientId, clientSecret } = client;
  if (clientSecret || !crm || crm.clientAuthentication === 'none') {
    return holds(`The OAuth client is stored (id of ${clientId.length} characters).`);
  }
  const text = `The client has no secret, but crm.clientAuthentication is "${crm.clientAuthentication}".`;
  return broken(text, `Set CRM_CLIENT_SECRET, then: ${authorizeCommand} --new-secret.`, USAGE);
}

/** @param labelled the version that AWSCURRENT names @param newest the last of its successors */
export function grantFinding(
  { labelled, newest }: { labelled: Generation; newest: Generation },
  { now }: Advising,
): Finding {
  const { obtainedAt, expiresAt } = newest.tokens;
  const end = expiresAt === null ? 'its end is unknown' : `its access token ends at ${expiresAt}`;
  const exhausted = versionsExhausted(newest.tokens, now);
  if (exhausted) return broken(exhausted.message, ERRORS.SecretVersionsExhausted.advice, ENVIRONMENT);
  const text = `Generation ${newest.versionId}, obtained at ${obtainedAt}; ${end}.`;
  if (labelled.versionId === newest.versionId) return holds(text);
  return warning(
    `${text} AWSCURRENT still names its ancestor ${labelled.versionId}.`,
    'The functions find the newest by themselves. If this lasts, somebody moved the label: leave it to the software.',
  );
}

/** Allowance for two different clocks: a claim counts as longer than a lease only beyond it. */
const CLOCKS_MS = 15_000;

/** Whether a run can spend the newest generation. */
export function ledgerFinding(item: LedgerItem | undefined, advising: Advising): Finding {
  const { now, authorizeCommand } = advising;
  const authorize = `Authorize again: ${authorizeCommand}.`;
  if (!item) return holds('Reachable. The current generation is not claimed.');
  const { state, deadline, refusals } = item;
  const reason = plain(item.reason).replace(/[.!?]*$/, '');
  const isPast = deadline < now.getTime();
  if (state === 'DEAD' || (state === 'AUTHORIZED' && item.diedAt && isPast)) {
    const since = item.diedAt ? ` since ${item.diedAt}` : '';
    const lost = state === 'AUTHORIZED' ? ' A new one was given, but never stored.' : '';
    return broken(`The grant is dead${since}: ${reason}.${lost}`, authorize);
  }
  if (state === 'STORED') {
    const text = 'The current generation is marked as followed by another, which is not to be seen.';
    const advice = `Look again in a minute. If it stays, the new one was deleted: ${authorizeCommand}.`;
    return broken(text, advice, ENVIRONMENT);
  }
  if (deadline === 0) return holds('Reachable; the current generation was claimed and given back unspent.');
  if (isPast) return endedClaimFinding(item, advising);
  if (deadline - now.getTime() <= LEASE_MS + CLOCKS_MS) {
    const since = new Date(deadline - LEASE_MS).toISOString();
    const text = `The current generation is claimed since ${since}: somebody refreshes it.`;
    return warning(text, 'Look again in a minute.');
  }
  const next = `the next is tried after ${new Date(deadline).toISOString()}.`;
  if (refusals > 0) {
    const times = `${refusals} refreshes of the current generation were refused by a word that is not known`;
    return broken(`${times}; ${next} ${reason}.`, authorize);
  }
  const advice = `See whether the token endpoint answers. To wait no longer: ${authorizeCommand}.`;
  return broken(`${unansweredText(item)}; ${next}`, advice, ENVIRONMENT);
}

/** The finding for an expired claim: the next run makes a new one. */
function endedClaimFinding(item: LedgerItem, { refreshCommand }: Advising): Finding {
  const next = `The next run tries again; to try now: ${refreshCommand}.`;
  if (item.state === 'AUTHORIZED') {
    const text = `The grant that a person gave at ${item.authorizedAt} was never stored; the one before it is used, unless the CRM has ended it.`;
    return warning(text, next);
  }
  if (item.unanswered > 0) return warning(`${unansweredText(item)}.`, next);
  const since = new Date(item.deadline - LEASE_MS).toISOString();
  return warning(`The current generation is claimed since ${since}, and that refresh never ended.`, next);
}

function unansweredText({ unanswered, unansweredSince }: LedgerItem): string {
  const since = unansweredSince > 0 ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  const times = unanswered > 0 ? ` (${unanswered} tried)` : '';
  return `No refresh of the current generation got an answer that could be used${since}${times}`;
}

/** The rights to read the stored client and grant. */
export const GRANT_RIGHTS = [
  'secretsmanager:GetSecretValue on both secrets',
  'kms:Decrypt on the key, through Secrets Manager and DynamoDB',
];

/** The question that `doctor` and `verify` ask: only the first refresh by a function shows that functions can store one. */
export const GRANT_STORED = {
  id: 'grant-stored',
  question: 'When did a function last store a refreshed grant?',
  rights: GRANT_RIGHTS,
  fails: 'ifBroken',
} as const;

/** The command of the run that refreshes an untried grant; `checked` adds the options of the deployment. */
export const FIRST_RUN = `${CRM_EXPORT} start leads --wait`;

export function storedFinding(tokens: Tokens): Finding {
  const { functionStoredAt, obtainedAt } = tokens;
  if (isUntried(tokens)) {
    return warning(
      `None has yet, since a person gave the grant at ${obtainedAt}.`,
      `Start a run while that person can consent again, for it refreshes the grant as the night will: ${FIRST_RUN}.`,
    );
  }
  if (!functionStoredAt) return holds('The grant that is stored does not say it: an earlier release stored it.');
  return holds(`At ${functionStoredAt}.`);
}

export function scopesFinding({ scope }: Tokens, needed: string[], { authorizeCommand }: Advising): Finding {
  const held = scope.split(' ').filter(Boolean);
  const missing = needed.filter((name) => !held.includes(name));
  // The finding names requested scopes only: other names are text from the CRM.
  const ours = held.filter((name) => needed.includes(name));
  const others = held.length - needed.length + missing.length;
  const lists = `held: ${ours.join(' ') || 'none'}${others > 0 ? ` and ${others} more` : ''}; needed: ${needed.join(' ')}`;
  if (missing.length === 0) return holds(`All are there (${lists}).`);
  const text = `Lacking: ${missing.join(' ')} (${lists}).`;
  if (missing.every((name) => [...PERSONAL_SCOPES, UPDATE_SCOPE].includes(name))) {
    const advice = `No export needs these. If they are wanted: ${authorizeCommand}; else take them out of the configuration.`;
    return warning(text, advice);
  }
  const advice = `Let an administrator of the CRM grant them, or correct crm.scopes; then: ${authorizeCommand}.`;
  return broken(text, advice);
}

/** With a shorter life, refreshes alone could use up the versions that Secrets Manager allows a secret in a day. */
const SHORT_LIFE_MS = 20 * 60_000;

/** The lifetime of the access token. An expired token is not an error: a run refreshes it. */
export function accessTokenFinding(tokens: Tokens, { now, refreshCommand }: Advising): Finding {
  if (tokens.expiresAt === null) {
    const text = 'The CRM does not say how long its access tokens live (no usable expires_in).';
    return warning(text, 'An hour is assumed, and a 401 refreshes: ask the operator of the CRM to send it.');
  }
  const end = Date.parse(tokens.expiresAt);
  const life = end - Date.parse(tokens.obtainedAt);
  const lives = `It lives for ${durationText(life / 1000)}`;
  if (life < SHORT_LIFE_MS) {
    const text = `${lives}; every refresh stores a version of the secret, and Secrets Manager allows about 100 a day.`;
    return warning(text, 'Ask the operator of the CRM for a life of 20 minutes or more.');
  }
  if (tokenFreshness(tokens, undefined, now) === 'stale') {
    const text = `${lives} and is stale (it ends or ended at ${tokens.expiresAt}); the next run refreshes it.`;
    return warning(text, `To see now whether that works: ${refreshCommand}.`);
  }
  return holds(`${lives} and has ${durationText((end - now.getTime()) / 1000)} left.`);
}

export interface Refreshed {
  before: Generation;
  after: Generation;
  /** Calls of the token endpoint; empty if another function refreshed at the same time. */
  calls: { answer: TokenAnswer; milliseconds: number }[];
  /** The CRM gave new tokens, but they could not be stored. */
  lost: boolean;
}

/** The finding about rotation, `expires_in` and latency. */
export function refreshFinding({ before, after, calls, lost }: Refreshed, { authorizeCommand }: Advising): Finding {
  if (lost) {
    const text = 'The CRM gave a new grant, but it could not be stored; the old one is spent.';
    return broken(text, `See that the secret can be written, then authorize again: ${authorizeCommand}.`);
  }
  const last = calls.at(-1);
  if (last?.answer.kind !== 'granted') {
    const text = `Another function refreshed the grant at the same time; generation ${after.versionId} is there.`;
    return warning(text, 'To measure the CRM, refresh again when no run is under way.');
  }
  const { refreshToken, expiresAt, obtainedAt } = last.answer.tokens;
  const rotated = refreshToken !== undefined && refreshToken !== before.tokens.refreshToken;
  const life = expiresAt ? `${Math.round((Date.parse(expiresAt) - Date.parse(obtainedAt)) / 1000)} s` : 'unknown';
  const text = [
    `Answered in ${last.milliseconds} ms`,
    rotated ? 'rotation observed: the refresh token is a new one' : 'no rotation: the refresh token stays',
    `expires_in ${life}`,
    `stored as generation ${after.versionId}`,
  ].join('; ');
  const odd = [...(calls.length > 1 ? ['the first answer was lost'] : []), ...last.answer.oddities];
  if (odd.length === 0) return holds(`${text}.`);
  return warning(`${text}. Odd: ${odd.join(', ')}.`, 'Nothing is lost by it; tell the operator of the CRM.');
}
