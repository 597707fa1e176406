import { UPDATE_SCOPE } from '../../core/config/scopes.ts';
import { ERRORS } from '../../core/errors.ts';
import type { Generation } from '../../core/oauth/generation.ts';
import { LEASE_MS } from '../../core/oauth/ledger.ts';
import type { LedgerItem } from '../../core/oauth/ledger-item.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { tokenFreshness } from '../../core/oauth/token-freshness.ts';
import { versionsExhausted } from '../../core/oauth/version-limit.ts';
import { ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { plain } from '../support/text.ts';
import { type Check, failed, ok, warning } from './check.ts';

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
/** Many services grant those about the person or the refresh token without naming them; the last is for updates. */
const FOR_NO_EXPORT = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access', UPDATE_SCOPE];

/** @param labelled what AWSCURRENT names; @param newest the end of its successors */
export function grantCheck(labelled: Generation, newest: Generation, { now }: Around): Check {
  const { obtainedAt, expiresAt } = newest.tokens;
  const end = expiresAt === null ? 'its end is unknown' : `its access token ends at ${expiresAt}`;
  const exhausted = versionsExhausted(newest.tokens, now);
  if (exhausted) return failed('grant', exhausted.message, ERRORS.SecretVersionsExhausted.advice, ENVIRONMENT);
  const text = `Generation ${newest.versionId}, obtained ${ago(now, obtainedAt)} (${obtainedAt}); ${end}.`;
  if (labelled.versionId === newest.versionId) return ok('grant', text);
  return warning(
    'grant',
    `${text} AWSCURRENT still names its ancestor ${labelled.versionId}.`,
    'The functions find the newest by themselves. If this lasts, somebody moved the label: leave it to the software.',
  );
}

/** Whether the newest generation can be spent when the time comes. */
export function ledgerCheck(item: LedgerItem | undefined, around: Around): Check {
  const { now, authorizeCommand } = around;
  const authorize = `Authorize again: ${authorizeCommand}.`;
  if (!item) return ok('ledger', 'Reachable; nobody has claimed the current generation.');
  if (item.state === 'DEAD') {
    const since = item.diedAt ? ` since ${item.diedAt}` : '';
    return failed('ledger', `The grant is dead${since}: ${plain(item.reason)}`, authorize, RUN_FAILED);
  }
  if (item.state === 'STORED') {
    const text = 'The current generation is marked as followed by another, which is not to be seen.';
    const advice = `Look again in a minute. If it stays, the new one was deleted: ${authorizeCommand}.`;
    return failed('ledger', text, advice, ENVIRONMENT);
  }
  if (item.deadline === 0) return ok('ledger', 'Reachable; the current generation was claimed and given back unspent.');
  const text = `The current generation is claimed since ${new Date(item.deadline - LEASE_MS).toISOString()}`;
  if (item.deadline < now.getTime()) return endedClaimCheck(item, around);
  if (item.deadline - now.getTime() <= LEASE_MS + CLOCKS_MS) {
    return warning('ledger', `${text}: somebody refreshes it.`, 'Look again in a minute.');
  }
  const next = new Date(item.deadline).toISOString();
  const advice = `See whether the token endpoint answers. To wait no longer: ${authorizeCommand}.`;
  return failed('ledger', `${unansweredText(item)}; the next is tried after ${next}.`, advice, ENVIRONMENT);
}

/** An expired claim: the next run makes a new one, unless a person authorized under it. */
function endedClaimCheck(item: LedgerItem, { authorizeCommand, refreshCommand }: Around): Check {
  const { state, reason, diedAt, authorizedAt, deadline, unanswered } = item;
  if (state === 'AUTHORIZED') {
    const death = reason ? `: ${plain(reason).replace(/[.!?]*$/, '')}` : '';
    const text = `The grant is dead since ${diedAt || authorizedAt}${death}. A new one was given, but never stored.`;
    return failed('ledger', text, `Authorize again: ${authorizeCommand}.`, RUN_FAILED);
  }
  const since = new Date(deadline - LEASE_MS).toISOString();
  const text =
    unanswered > 0
      ? `${unansweredText(item)}.`
      : `The current generation is claimed since ${since}, and that refresh never ended.`;
  return warning('ledger', text, `The next run tries again; to try now: ${refreshCommand}.`);
}

function unansweredText({ unanswered, unansweredSince }: LedgerItem): string {
  const since = unansweredSince > 0 ? ` since ${new Date(unansweredSince).toISOString()}` : '';
  const times = unanswered > 0 ? ` (${unanswered} tried)` : '';
  return `No refresh of the current generation got an answer that could be used${since}${times}`;
}

export function scopesCheck({ scope }: Tokens, needed: string[], { authorizeCommand }: Around): Check {
  const held = scope.split(' ').filter(Boolean);
  const missing = needed.filter((name) => !held.includes(name));
  // Only requested scopes by name: others are text of the CRM.
  const [ours, others] = [held.filter((name) => needed.includes(name)), held.length - needed.length + missing.length];
  const lists = `held: ${ours.join(' ') || 'none'}${others > 0 ? ` and ${others} more` : ''}; needed: ${needed.join(' ')}`;
  if (missing.length === 0) return ok('scopes', `All are there (${lists}).`);
  const text = `Lacking: ${missing.join(' ')} (${lists}).`;
  if (missing.every((name) => FOR_NO_EXPORT.includes(name))) {
    const advice = `No export needs these. If they are wanted: ${authorizeCommand}; else take them out of the configuration.`;
    return warning('scopes', text, advice);
  }
  const advice = `Let an administrator of the CRM grant them, or correct crm.scopes; then: ${authorizeCommand}.`;
  return failed('scopes', text, advice, RUN_FAILED);
}

/** The lifetime of the access token. A stale one is no error: a run refreshes it. */
export function accessTokenCheck(tokens: Tokens, { now, refreshCommand }: Around): Check {
  const id = 'access-token';
  if (tokens.expiresAt === null) {
    const text = 'The CRM does not say how long its access tokens live (no usable expires_in).';
    return warning(id, text, 'An hour is assumed, and a 401 refreshes: ask the operator of the CRM to send it.');
  }
  const life = Date.parse(tokens.expiresAt) - Date.parse(tokens.obtainedAt);
  const lives = `It lives for ${duration(life)}`;
  if (life < SHORT_LIFE_MS) {
    const text = `${lives}; every refresh stores a version of the secret, and Secrets Manager allows about 100 a day.`;
    return warning(id, text, 'Ask the operator of the CRM for a life of 20 minutes or more.');
  }
  if (tokenFreshness(tokens, undefined, now) === 'stale') {
    const text = `${lives} and is stale (it ends or ended at ${tokens.expiresAt}); the next run refreshes it.`;
    return warning(id, text, `To see now whether that works: ${refreshCommand}.`);
  }
  return ok(id, `${lives} and has ${duration(Date.parse(tokens.expiresAt) - now.getTime())} left.`);
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
