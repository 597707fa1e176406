import type { Entity } from '../../core/config/entities.ts';
import type { Generation } from '../../core/oauth/generation.ts';
import { tokenFreshness } from '../../core/oauth/token-freshness.ts';
import { watchClock } from '../support/aws-clock.ts';
import { commandFor } from '../support/command-options.ts';
import type { ConfigurationOptions } from '../support/configuration-file.ts';
import { connect, type Target } from '../support/target.ts';
import { alarmsCheck } from './alarms.ts';
import { type Check, Findings, ok, warning } from './check.ts';
import { concurrencyCheck } from './concurrency.ts';
import { type Configured, configured } from './configuration.ts';
import { type Around, accessTokenCheck, scopesCheck } from './grant.ts';
import { leftOutChecks } from './left-out.ts';
import { lookAtPlaces, type Stored } from './places.ts';
import { refresh, refreshCheck } from './refresh.ts';
import { rulesCheck } from './rules.ts';
import { serviceChecks } from './service.ts';
import { startsCheck } from './starts.ts';
import { tablesChecks } from './tables.ts';
import { tonightChecks } from './tonight.ts';

export interface DoctorOptions extends ConfigurationOptions {
  allDeployments?: boolean;
  /** Spends a generation of the grant; without it, nothing is changed. */
  refresh?: boolean;
  /** Reads the newest file of each entity to its end. */
  read?: boolean;
  json?: boolean;
}

/**
 * Checks everything that a nightly run needs, in the order in which it needs it. What is deployed counts, not the local file.
 * @returns results, also of what cannot be read; none holds a token
 */
export async function doctor(options: DoctorOptions): Promise<Check[]> {
  const findings = new Findings();
  const connecting = connect(options);
  const outputs = await connecting.then(
    ({ deployed }) => deployed,
    () => undefined, // reported as the check 'stack'
  );
  const known = await findings.look(
    'configuration',
    () => configured(options, outputs),
    ({ checks }) => checks,
  );
  const target = await findings.look(
    'stack',
    () => connecting,
    () => ok('stack', `crm-export-${options.deployment} is there, with all its outputs.`),
  );
  if (!target) return findings.checks;
  await lookAtNights(findings, target, known, options);
  await lookAtColumns(findings, target, known, options);
  const clock = watchClock(target.secrets);
  const commands = commandsFor(options);
  const around = () => ({ ...commands, now: clock.now() });
  const stored = await lookAtPlaces(findings, target, known?.crm, clock, around);
  if (known && stored.generation) {
    await lookAtGrant(findings, target, known, { ...stored, generation: stored.generation }, around, options.refresh);
  } else {
    const lacking = known ? 'a grant' : 'a valid configuration';
    findings.add(notLooked('service', lacking));
    if (options.refresh) findings.add(notLooked('refresh', lacking));
  }
  return findings.checks;
}

/** Rules that start runs, concurrency for them, and alarms for those that fail. */
async function lookAtNights(
  findings: Findings,
  target: Target,
  known: Configured | undefined,
  options: DoctorOptions,
): Promise<void> {
  const deployment = known?.file && { ...known.file, customerUpdates: target.UpdatesStateMachineArn !== undefined };
  const resume = (entities: Entity[]) => commandFor(`resume ${entities.join(' ')}`, options);
  const same = (check: Check) => check;
  await findings.look('rules', () => rulesCheck(target, deployment, resume), same);
  if (known)
    await findings.look(
      'starts',
      () => startsCheck(target, known, new Date()),
      (checks) => checks,
    );
  if (deployment)
    await findings.look(
      'tonight',
      () => tonightChecks(target, deployment, { now: () => new Date(), read: options.read }),
      (checks) => checks,
    );
  await findings.look('concurrency', () => concurrencyCheck(target, deployment, known?.sameNights), same);
  await findings.look('alarms', () => alarmsCheck(target, deployment?.alarms.email), same);
}

/** What readers have of columns that are left out or hashed today. */
async function lookAtColumns(
  findings: Findings,
  target: Target,
  known: Configured | undefined,
  { deployment, profile, region, endpointUrl }: DoctorOptions,
): Promise<void> {
  const same = (checks: Check[]) => checks;
  const place = { deployment, profile, region, endpointUrl };
  await findings.look('tables', () => tablesChecks(target, place), same);
  if (known) await findings.look('left-out', () => leftOutChecks(target, known), same);
}

/** Uses the grant: refreshes it with `--refresh`, then calls the CRM with it. */
async function lookAtGrant(
  findings: Findings,
  target: Target,
  known: Configured,
  { client, spendable, generation: before }: Stored & { generation: Generation },
  around: () => Around,
  wanted: boolean | undefined,
): Promise<void> {
  const { crm } = known;
  const { authorizeCommand, refreshCommand } = around();
  const now = () => around().now;
  const possible = client && spendable;
  const refreshed =
    wanted && possible
      ? await findings.look(
          'refresh',
          () => refresh(target, before, { crm, now, authorizeCommand }),
          (found) => refreshCheck(found, authorizeCommand),
        )
      : undefined;
  if (wanted && !possible) findings.add(notLooked('refresh', 'a grant that can be spent'));
  const { tokens } = refreshed?.after ?? before;
  findings.add(scopesCheck(tokens, crm.scopes, around()), accessTokenCheck(tokens, around()));
  if (tokenFreshness(tokens, undefined, now()) === 'stale') {
    const advice = wanted ? undefined : `Look with --refresh: ${refreshCommand}.`;
    return findings.add(notLooked('service', 'an access token that lives', advice));
  }
  const options = { now, refreshed: refreshed !== undefined, refreshCommand, target };
  findings.add(...(await serviceChecks(known, tokens, options)));
}

function notLooked(id: string, lacking: string, advice = 'Mend what failed above, then look again.'): Check {
  return warning(id, `Not looked at, for lack of ${lacking}.`, advice);
}

function commandsFor({ configuration, ...place }: DoctorOptions): Omit<Around, 'now'> {
  return {
    authorizeCommand: commandFor('authorize', place, { configuration }),
    refreshCommand: `${commandFor('doctor', place, { configuration })} --refresh`,
  };
}
