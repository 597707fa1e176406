import { setTimeout as sleep } from 'node:timers/promises';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { accessTokenDeps, createGetAccessToken } from '../../core/oauth/access-token.ts';
import {
  BEFORE_THE_FIRST,
  createGrantStore,
  type Generation,
  isUntried,
  newestOf,
  tokenFreshness,
} from '../../core/oauth/grant.ts';
import { createLedger, LEASE_MS, type LedgerItem } from '../../core/oauth/ledger.ts';
import { readOAuthClient } from '../../core/oauth/secrets.ts';
import type { TokenAnswer } from '../../core/oauth/token-endpoint.ts';
import { watchClock } from '../access/aws-clock.ts';
import { commandFor } from '../support/command-options.ts';
import { ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { plain } from '../support/text.ts';
import { readStack } from './deployed-stack.ts';
import type { ConfigurationOptions, Configured } from './doctor-configuration.ts';
import { broken, type Finding, holds, nameCalls, unknown, warning } from './health-check.ts';
import { type Asked, askCrm } from './service-checks.ts';

/** Allowance for two different clocks: a claim counts as longer than a lease only beyond it. */
const CLOCKS_MS = 15_000;
const CALLED = ['cloudformation', 'events', 'sns', 's3'] as const;

/** The time and the commands that the checks of a grant need besides the grant. */
export interface Around {
  now: Date;
  authorizeCommand: string;
  refreshCommand: string;
}

export interface DoctorOptions extends ConfigurationOptions {
  /** Spends a generation of the grant; without this option, doctor changes nothing. */
  refresh?: boolean;
  /** Prints the passed checks too. */
  all?: boolean;
  json?: boolean;
}

/** Data that the checks of one doctor run share. Each part is read once, when a check first needs it. */
export type Doctoring = ReturnType<typeof begin>;

/** @param known `undefined` if there is no valid configuration */
export function begin(target: Target, known: Configured | undefined, options: DoctorOptions) {
  nameCalls(target, [...CALLED]);
  const clock = watchClock(target.secrets);
  const around = () => ({ ...commandsFor(options), now: clock.now() });
  const stack = once(() => readStack(target));
  const grants = grantOf(target, known, options, around);
  return {
    options,
    target,
    known,
    /** The deployed configuration. */
    deployment: known?.deployment,
    stack,
    around,
    ...grants,
    asked: once(async (): Promise<Asked> => {
      const tokens = await grants.tokens();
      const refreshed = (await grants.refreshed().catch(() => undefined)) !== undefined;
      if (!known || !tokens) return { service: notLooked((await grants.lacking()) ?? 'a grant'), columns: [] };
      const { now, refreshCommand } = around();
      const again = isUntried(tokens) ? FIRST_RUN : refreshCommand;
      if (tokenFreshness(tokens, undefined, now) === 'stale') {
        const advice = options.refresh && !isUntried(tokens) ? undefined : `Refresh it by: ${again}.`;
        return { service: notLooked('an access token that lives', advice), columns: [] };
      }
      return askCrm(known, tokens, { now: () => around().now, refreshed, refreshCommand: again, target });
    }),
  };
}

/** The grant as stored, and as `--refresh` leaves it. */
function grantOf(target: Target, known: Configured | undefined, options: DoctorOptions, around: () => Around) {
  const { secrets, dynamo, ClientSecretId, TokensSecretId, LedgerTableName } = target;
  const client = once(() => readOAuthClient(secrets, ClientSecretId));
  const grant = once(() => newestOf(createGrantStore(secrets, TokensSecretId)));
  const generation = () =>
    grant().then(
      ({ newest }) => newest,
      () => undefined, // reported as the check 'grant'
    );
  const ledger = once(async (): Promise<Finding> => {
    const newest = await generation();
    const item = await createLedger(dynamo, LedgerTableName, TokensSecretId).read(
      newest?.versionId ?? BEFORE_THE_FIRST,
    );
    return newest ? ledgerFinding(item, around()) : holds('Reachable; there is no grant to spend.');
  });
  const isSpendable = async () => {
    const [stored, claim] = await Promise.allSettled([client(), ledger()]);
    return stored.status === 'fulfilled' && claim.status === 'fulfilled' && claim.value.verdict !== 'broken';
  };
  const refreshed = once(async () => {
    const before = await generation();
    // A function has to make the first refresh: this shows that functions can refresh.
    if (before && isUntried(before.tokens)) return undefined;
    if (!options.refresh || !known || !before || !(await isSpendable())) return undefined;
    const { authorizeCommand } = around();
    return refresh(target, before, { crm: known.deployment.crm, now: () => around().now, authorizeCommand });
  });
  return {
    client,
    grant,
    generation,
    ledger,
    refreshed,
    lacking: async () => {
      if (!known) return 'a valid configuration';
      return (await generation()) ? undefined : 'a grant';
    },
    tokens: async () => {
      const before = await generation();
      const found = await refreshed().catch(() => undefined);
      return known && (found?.after ?? before)?.tokens;
    },
  };
}

function commandsFor({ configuration, ...place }: DoctorOptions): Omit<Around, 'now'> {
  return {
    authorizeCommand: commandFor('authorize', place),
    refreshCommand: `${commandFor('doctor', place, { configuration })} --refresh`,
  };
}

/** Whether a run can spend the newest generation. */
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

/** The finding for an expired claim: the next run makes a new one. */
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

/** The finding of a check that cannot run because an earlier check failed. */
export function notLooked(lacking: string, advice = 'Mend what failed above, then look again.'): Finding {
  return unknown(`Not looked at, for lack of ${lacking}.`, advice);
}

/** Returns a function that does its work at the first call only. */
function once<T>(work: () => T): () => T {
  let done: { result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}

/** The command of the run that refreshes an untried grant; `checked` adds the options of the deployment. */
export const FIRST_RUN = `${CRM_EXPORT} start leads --wait`;

interface RefreshOptions {
  crm: OAuthSettings;
  now: () => Date;
  authorizeCommand: string;
}

export interface Refreshed {
  before: Generation;
  after: Generation;
  /** Calls of the token endpoint; empty if another function refreshed at the same time. */
  calls: { answer: TokenAnswer; milliseconds: number }[];
  /** The CRM gave new tokens, but they could not be stored. */
  lost: boolean;
}

/** Makes one real refresh by the rules of the functions; it spends the generation. @throws RunError */
async function refresh(target: Target, before: Generation, options: RefreshOptions): Promise<Refreshed> {
  const seen: Refreshed = { before, after: before, calls: [], lost: false };
  const places = {
    clientSecretId: target.ClientSecretId,
    tokensSecretId: target.TokensSecretId,
    ledgerTable: target.LedgerTableName,
  };
  const deps = accessTokenDeps(places, {
    ...options,
    sleep: (ms) => sleep(ms),
    random: Math.random,
    secondsLeft: () => Number.POSITIVE_INFINITY,
    count: (event) => {
      seen.lost ||= event === 'GrantRotatedButNotStored';
    },
    secrets: target.secrets,
    dynamo: target.dynamo,
  });
  const getAccessToken = createGetAccessToken({
    ...deps,
    callTokenEndpoint: async (...call) => {
      const started = performance.now();
      const answer = await deps.callTokenEndpoint(...call);
      seen.calls.push({ answer, milliseconds: Math.round(performance.now() - started) });
      return answer;
    },
  });
  await getAccessToken({ rejected: before.tokens.accessToken });
  return { ...seen, after: (await newestOf(deps.store)).newest };
}

/** The finding about rotation, `expires_in` and latency. */
export function refreshFinding({ before, after, calls, lost }: Refreshed, authorizeCommand: string): Finding {
  if (lost) {
    const text = 'The CRM gave a new grant, but it could not be stored; the old one is spent.';
    const advice = `See that the secret can be written, then authorize again: ${authorizeCommand}.`;
    return broken(text, advice);
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
