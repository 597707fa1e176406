import { setTimeout as sleep } from 'node:timers/promises';
import type { OAuthSettings } from '../../core/config/deployment.ts';
import { type AccessTokenDeps, accessTokenDeps, createGetAccessToken } from '../../core/oauth/access-token.ts';
import { BEFORE_THE_FIRST, isUntried, newestOf, type TokenSet, tokenFreshness } from '../../core/oauth/grant.ts';
import type { LedgerItem } from '../../core/oauth/ledger.ts';
import { readOAuthClient, type StoredClient, type Tokens } from '../../core/oauth/secrets.ts';
import { watchClock } from '../access/aws-clock.ts';
import { grantPlaces } from '../deployment-state.ts';
import { commandFor } from '../support/command-options.ts';
import type { Target } from '../support/target.ts';
import { type Finding, fact, ifRead, nameCalls, unknown } from './check.ts';
import type { ConfigurationOptions, Configured } from './doctor-configuration.ts';
import { type Advising, FIRST_RUN, ledgerFinding, type Refreshed } from './grant-checks.ts';
import { type Asked, askCrm } from './service-checks.ts';

export interface DoctorOptions extends ConfigurationOptions {
  /** Spends a token set of the grant; without this option, doctor changes nothing. */
  refresh?: boolean;
  /** Prints the passed checks too. */
  all?: boolean;
  json?: boolean;
}

/** What the checks of one doctor run judge: the deployment, its grant, and what the CRM answered. */
export interface DoctorFacts {
  options: DoctorOptions;
  target: Target;
  /** `undefined` if there is no valid configuration. */
  known: Configured | undefined;
  advising: Advising;
  client: Promise<StoredClient>;
  grant: Promise<{ labelled: TokenSet; newest: TokenSet }>;
  claim: Promise<LedgerItem | undefined>;
  /** The newest token set before a refresh; `undefined` if it could not be read. */
  before: TokenSet | undefined;
  /** `undefined` if the grant was not refreshed. */
  refreshed: Promise<Refreshed | undefined>;
  /** The newest tokens, with a known configuration. */
  tokens: Tokens | undefined;
  asked: Asked;
}

/** Reads what the checks need in the order in which a run needs it: the grant, its claim, a refresh, the CRM. */
export async function readFacts(
  target: Target,
  known: Configured | undefined,
  options: DoctorOptions,
): Promise<DoctorFacts> {
  nameCalls(target, ['cloudformation', 'events', 'sns', 's3']);
  const { store, ledger } = grantPlaces(target);
  const clock = watchClock(target.secrets);
  const client = fact(readOAuthClient(target.secrets, target.ClientSecretId));
  const grant = fact(newestOf(store));
  const before = (await ifRead(grant))?.newest;
  const claim = fact(ledger.read(before?.versionId ?? BEFORE_THE_FIRST));
  const isNew = before !== undefined && isUntried(before.tokens);
  const { configuration, ...place } = options;
  const refreshCommand = `${commandFor('doctor', place, { configuration })} --refresh`;
  const advising = {
    now: clock.now(),
    authorizeCommand: commandFor('authorize', place),
    refreshCommand: isNew ? FIRST_RUN : refreshCommand,
  };
  // A function has to make the first refresh: this shows that functions can refresh.
  const refreshOnce = async () => {
    if (!options.refresh || !known || !before || isNew || !(await ifRead(client))) return undefined;
    const isSpendable = await claim.then(
      (item) => ledgerFinding(item, advising).verdict !== 'broken',
      () => false,
    );
    return isSpendable
      ? refresh(target, before, { ...advising, crm: known.deployment.crm, now: clock.now })
      : undefined;
  };
  const refreshed = fact(refreshOnce());
  const after = await ifRead(refreshed);
  const tokens = known && (after?.after ?? before)?.tokens;
  const facts = { options, target, known, advising, client, grant, claim, before, refreshed, tokens };
  return { ...facts, asked: await askedOf(facts, after !== undefined, clock.now) };
}

/** The answers of the CRM, if there is an access token that lives. */
async function askedOf(facts: Omit<DoctorFacts, 'asked'>, refreshed: boolean, now: () => Date): Promise<Asked> {
  const { options, target, known, advising, tokens } = facts;
  if (!known || !tokens) return { service: notChecked(lackingOf(facts) ?? 'a grant'), columns: [] };
  const { refreshCommand } = advising;
  if (tokenFreshness(tokens, undefined, now()) === 'stale') {
    const advice = options.refresh && refreshCommand !== FIRST_RUN ? undefined : `Refresh it by: ${refreshCommand}.`;
    return { service: notChecked('a valid access token', advice), columns: [] };
  }
  return askCrm(known, tokens, { now, refreshed, refreshCommand, target });
}

/** What is missing to use the grant. */
export function lackingOf({ known, before }: Pick<DoctorFacts, 'known' | 'before'>): string | undefined {
  if (!known) return 'a valid configuration';
  return before ? undefined : 'a grant';
}

/** The finding of a check that cannot run because an earlier check failed. */
export function notChecked(lacking: string, advice = 'Fix what failed above, then run the command again.'): Finding {
  return unknown(`Not checked, because this is missing: ${lacking}.`, advice);
}

interface GrantOptions {
  crm: OAuthSettings;
  now: () => Date;
  authorizeCommand: string;
}

/** What a command needs to refresh the stored grant as a run does. @param count called with the names of metrics */
export function grantDeps(
  target: Target,
  options: GrantOptions,
  count: AccessTokenDeps['count'] = () => undefined,
): AccessTokenDeps {
  const { secrets, dynamo } = target;
  const { ClientSecretId: clientSecretId, TokensSecretId: tokensSecretId, LedgerTableName: ledgerTable } = target;
  return accessTokenDeps(
    { clientSecretId, tokensSecretId, ledgerTable },
    {
      ...{ ...options, secrets, dynamo, count },
      sleep: (ms) => sleep(ms),
      random: Math.random,
      secondsLeft: () => Number.POSITIVE_INFINITY,
    },
  );
}

/** Makes one real refresh by the rules of the functions; it spends the token set. @throws RunError */
async function refresh(target: Target, before: TokenSet, options: GrantOptions): Promise<Refreshed> {
  const seen: Refreshed = { before, after: before, calls: [], lost: false };
  const deps = grantDeps(target, options, (event) => {
    seen.lost ||= event === 'GrantRotatedButNotStored';
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
