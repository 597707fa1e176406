import { BEFORE_THE_FIRST } from '../../core/oauth/generation.ts';
import { createGrantStore, newestOf } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { readOAuthClient } from '../../core/oauth/secrets.ts';
import { isUntried, tokenFreshness } from '../../core/oauth/token-freshness.ts';
import { watchClock } from '../authorize/aws-clock.ts';
import { nameCalls } from '../checks/calls.ts';
import { readStack } from '../checks/deployed-stack.ts';
import { type Finding, holds } from '../checks/finding.ts';
import { FIRST_RUN } from '../checks/grant-stored.ts';
import { commandFor } from '../support/command-options.ts';
import type { Target } from '../support/target.ts';
import type { ConfigurationOptions, Configured } from './configuration.ts';
import { type Around, ledgerFinding, notLooked } from './grant.ts';
import { refresh } from './refresh.ts';
import { type Asked, askCrm } from './service.ts';

const CALLED = ['cloudformation', 'events', 'sns', 's3'] as const;

export interface DoctorOptions extends ConfigurationOptions {
  /** Spends a generation of the grant; without it, nothing is changed. */
  refresh?: boolean;
  /** Prints the checks that passed, too. */
  all?: boolean;
  json?: boolean;
}

/** One look of doctor: what its checks share, each of it read once and when a check asks for it. */
export type Doctoring = ReturnType<typeof begin>;

/** @param known `undefined` where no configuration can be used */
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
    /** What is deployed. */
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

/** The grant as it is stored, and as `--refresh` leaves it. */
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
    // The first refresh is a function's: it shows whether functions can.
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

/** Returns a function that does its work at the first call only. */
function once<T>(work: () => T): () => T {
  let done: { result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
