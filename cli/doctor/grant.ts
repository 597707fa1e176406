import type { OAuthSettings } from '../../core/config/deployment.ts';
import { PERSONAL_SCOPES, UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { ERRORS } from '../../core/errors.ts';
import type { Generation } from '../../core/oauth/generation.ts';
import { LEASE_MS } from '../../core/oauth/ledger.ts';
import type { LedgerItem } from '../../core/oauth/ledger-item.ts';
import { clientOf, type StoredClient, type Tokens } from '../../core/oauth/secrets.ts';
import { isUntried, tokenFreshness } from '../../core/oauth/token-freshness.ts';
import { versionsExhausted } from '../../core/oauth/version-limit.ts';
import { broken, type Finding, holds, unknown, warning } from '../checks/finding.ts';
import { FIRST_RUN } from '../checks/grant-stored.ts';
import { ENVIRONMENT, USAGE } from '../support/exit.ts';
import { plain } from '../support/text.ts';

/** What the checks of a grant need beside the grant. */
export interface Around {
  now: Date;
  authorizeCommand: string;
  refreshCommand: string;
}

/** Below this, refreshes alone could use up the versions that Secrets Manager allows a secret in a day. */
const SHORT_LIFE_MS = 20 * 60_000;
/** How far the clock of a claim may be ahead before the claim counts as longer than a lease. */
const CLOCKS_MS = 15_000;
const FOR_NO_EXPORT = [...PERSONAL_SCOPES, UPDATE_SCOPE];

/** Whether what is stored of the client is what the configuration needs. */
export function clientFinding(
  stored: StoredClient,
  tokens: Pick<Tokens, 'clientId'>,
  crm: OAuthSettings | undefined,
  { authorizeCommand }: Around,
): Finding {
  const client = clientOf(stored, tokens);
  if (!client)
    return broken(
      'Another OAuth client is stored than the grant was given to.',
      `Authorize again: ${authorizeCommand}.`,
      USAGE,
    );
  const { clientId, clientSecret } = client;
  if (clientSecret || !crm || crm.clientAuthentication === 'none') {
    return holds(`The OAuth client is stored (id of ${clientId.length} characters).`);
  }
  const text = `The client has no secret, but crm.clientAuthentication is "${crm.clientAuthentication}".`;
  return broken(text, `Set CRM_CLIENT_SECRET, then: ${authorizeCommand} --new-secret.`, USAGE);
}

/** @param labelled what AWSCURRENT names; @param newest the end of its successors */
export function grantFinding(labelled: Generation, newest: Generation, { now }: Around): Finding {
  const { obtainedAt, expiresAt } = newest.tokens;
  const end = expiresAt === null ? 'its end is unknown' : `its access token ends at ${expiresAt}`;
  const exhausted = versionsExhausted(newest.tokens, now);
  if (exhausted) return broken(exhausted.message, ERRORS.SecretVersionsExhausted.advice, ENVIRONMENT);
  const text = `Generation ${newest.versionId}, obtained ${ago(now, obtainedAt)} (${obtainedAt}); ${end}.`;
  if (labelled.versionId === newest.versionId) return holds(text);
  return warning(
    `${text} AWSCURRENT still names its ancestor ${labelled.versionId}.`,
    'The functions find the newest by themselves. If this lasts, somebody moved the label: leave it to the software.',
  );
}

/** Whether the newest generation can be spent when the time comes. */
export function ledgerFinding(item: LedgerItem | undefined, around: Around): Finding {
  const { now, authorizeCommand } = around;
  const authorize = `Authorize again: ${authorizeCommand}.`;
  if (!item) return holds('Reachable; nobody has claimed the current generation.');
  if (item.state === 'DEAD') {
    const since = item.diedAt ? ` since ${item.diedAt}` : '';
    return broken(`The grant is dead${since}: ${plain(item.reason)}`, authorize);
  }
  if (item.state === 'STORED') {
    const text = 'The current generation is marked as followed by another, which is not to be seen.';
    const advice = `Look again in a minute. If it stays, the new one was deleted: ${authorizeCommand}.`;
    return broken(text, advice, ENVIRONMENT);
  }
  if (item.state === 'AUTHORIZED' && item.diedAt && item.deadline < now.getTime()) {
    const death = plain(item.reason).replace(/[.!?]*$/, '');
    return broken(
      `The grant is dead since ${item.diedAt}: ${death}. A new one was given, but never stored.`,
      authorize,
    );
  }
  if (item.deadline === 0) return holds('Reachable; the current generation was claimed and given back unspent.');
  const text = `The current generation is claimed since ${new Date(item.deadline - LEASE_MS).toISOString()}`;
  if (item.deadline < now.getTime()) return endedClaimFinding(item, around);
  if (item.deadline - now.getTime() <= LEASE_MS + CLOCKS_MS) {
    return warning(`${text}: somebody refreshes it.`, 'Look again in a minute.');
  }
  const next = new Date(item.deadline).toISOString();
  if (item.refusals > 0) {
    const times = `${item.refusals} refreshes of the current generation were refused by a word that is not known`;
    return broken(`${times}; the next is tried after ${next}. ${plain(item.reason)}`, authorize);
  }
  const advice = `See whether the token endpoint answers. To wait no longer: ${authorizeCommand}.`;
  return broken(`${unansweredText(item)}; the next is tried after ${next}.`, advice, ENVIRONMENT);
}

/** An expired claim: the next run makes a new one. */
function endedClaimFinding(item: LedgerItem, { refreshCommand }: Around): Finding {
  const { state, authorizedAt, deadline, unanswered } = item;
  const next = `The next run tries again; to try now: ${refreshCommand}.`;
  if (state === 'AUTHORIZED') {
    const text = `The grant that a person gave at ${authorizedAt} was never stored; the one before it is used, unless the CRM has ended it.`;
    return warning(text, next);
  }
  const since = new Date(deadline - LEASE_MS).toISOString();
  const text =
    unanswered > 0
      ? `${unansweredText(item)}.`
      : `The current generation is claimed since ${since}, and that refresh never ended.`;
  return warning(text, next);
}

function unansweredText({ unanswered, unansweredSince }: LedgerItem): string {
  const since = unansweredSince > 0 ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  const times = unanswered > 0 ? ` (${unanswered} tried)` : '';
  return `No refresh of the current generation got an answer that could be used${since}${times}`;
}

export function scopesFinding({ scope }: Tokens, needed: string[], { authorizeCommand }: Around): Finding {
  const held = scope.split(' ').filter(Boolean);
  const missing = needed.filter((name) => !held.includes(name));
  // The finding names requested scopes only: others are text of the CRM.
  const ours = held.filter((name) => needed.includes(name));
  const others = held.length - needed.length + missing.length;
  const lists = `held: ${ours.join(' ') || 'none'}${others > 0 ? ` and ${others} more` : ''}; needed: ${needed.join(' ')}`;
  if (missing.length === 0) return holds(`All are there (${lists}).`);
  const text = `Lacking: ${missing.join(' ')} (${lists}).`;
  if (missing.every((name) => FOR_NO_EXPORT.includes(name))) {
    const advice = `No export needs these. If they are wanted: ${authorizeCommand}; else take them out of the configuration.`;
    return warning(text, advice);
  }
  const advice = `Let an administrator of the CRM grant them, or correct crm.scopes; then: ${authorizeCommand}.`;
  return broken(text, advice);
}

/** The lifetime of the access token. A stale one is no error: a run refreshes it. */
export function accessTokenFinding(tokens: Tokens, { now, refreshCommand }: Around): Finding {
  if (tokens.expiresAt === null) {
    const text = 'The CRM does not say how long its access tokens live (no usable expires_in).';
    return warning(text, 'An hour is assumed, and a 401 refreshes: ask the operator of the CRM to send it.');
  }
  const life = Date.parse(tokens.expiresAt) - Date.parse(tokens.obtainedAt);
  const lives = `It lives for ${duration(life)}`;
  if (life < SHORT_LIFE_MS) {
    const text = `${lives}; every refresh stores a version of the secret, and Secrets Manager allows about 100 a day.`;
    return warning(text, 'Ask the operator of the CRM for a life of 20 minutes or more.');
  }
  if (tokenFreshness(tokens, undefined, now) === 'stale') {
    const text = `${lives} and is stale (it ends or ended at ${tokens.expiresAt}); the next run refreshes it.`;
    return warning(text, `To see now whether that works: ${isUntried(tokens) ? FIRST_RUN : refreshCommand}.`);
  }
  return holds(`${lives} and has ${duration(Date.parse(tokens.expiresAt) - now.getTime())} left.`);
}

/** A check that cannot be made for want of what an earlier one would have found. */
export function notLooked(lacking: string, advice = 'Mend what failed above, then look again.'): Finding {
  return unknown(`Not looked at, for lack of ${lacking}.`, advice);
}

function ago(now: Date, time: string): string {
  return `${duration(Math.max(0, now.getTime() - Date.parse(time)))} ago`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
