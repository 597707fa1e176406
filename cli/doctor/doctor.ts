import type { Command } from 'commander';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Generation } from '../../core/oauth/generation.ts';
import { tokenFreshness } from '../../core/oauth/token-freshness.ts';
import { type Clock, watchClock } from '../support/aws-clock.ts';
import { commandFor, quoted, withExamples } from '../support/command-options.ts';
import { pathArgument } from '../support/paths.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { alarmsCheck } from './alarms.ts';
import { type Check, documentOf, exitCodeOf, Findings, linesOf, ok, warning } from './check.ts';
import { concurrencyCheck } from './concurrency.ts';
import { type Configured, configured } from './configuration.ts';
import { type Around, accessTokenCheck, scopesCheck } from './grant.ts';
import { lookAtPlaces, type Stored } from './places.ts';
import { refresh, refreshCheck } from './refresh.ts';
import { rulesCheck } from './rules.ts';
import { serviceChecks } from './service.ts';

export interface DoctorOptions extends TargetOptions {
  configuration?: string;
  /** Spends a generation of the grant; else nothing is changed. */
  refresh?: boolean;
  json?: boolean;
}

type Commands = Pick<Around, 'authorizeCommand' | 'refreshCommand'>;

/**
 * Checks everything that a nightly run needs, in the order in which the run would need it. What is deployed counts, not the
 * local file. Problems are results, never exceptions.
 * @returns the checks; none holds a token
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
  await lookAtNights(findings, target, known?.file, options);
  const clock = watchClock(target.secrets);
  const commands = commandsFor(options);
  const stored = await lookAtPlaces(findings, target, known?.crm, clock, commands);
  if (known && stored.generation) {
    await lookAtGrant(findings, target, known, stored, stored.generation, { clock, commands, options });
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
  file: Deployment | undefined,
  options: DoctorOptions,
): Promise<void> {
  const deployment = file && { ...file, customerUpdates: target.UpdatesStateMachineArn !== undefined };
  const resume = (entities: Entity[]) => commandFor(`resume ${entities.join(' ')}`, options);
  const same = (check: Check) => check;
  await findings.look('rules', () => rulesCheck(target, deployment, resume), same);
  await findings.look('concurrency', () => concurrencyCheck(target, deployment), same);
  await findings.look('alarms', () => alarmsCheck(target, deployment?.alarms.email), same);
}

interface With {
  clock: Clock;
  commands: Commands;
  options: DoctorOptions;
}

/** Uses the grant: refreshes it with `--refresh`, then calls the service with it. */
async function lookAtGrant(
  findings: Findings,
  target: Target,
  known: Configured,
  { client, spendable }: Stored,
  before: Generation,
  { clock, commands, options }: With,
): Promise<void> {
  const { crm } = known;
  const refreshed =
    options.refresh && client && spendable
      ? await findings.look(
          'refresh',
          () => refresh(target, before, { crm, now: clock.now, ...commands }),
          (found) => refreshCheck(found, commands.authorizeCommand),
        )
      : undefined;
  if (options.refresh && !(client && spendable)) findings.add(notLooked('refresh', 'a grant that can be spent'));
  const { tokens } = refreshed?.after ?? before;
  const around = { ...commands, now: clock.now() };
  findings.add(scopesCheck(tokens, crm.scopes, around), accessTokenCheck(tokens, around));
  if (tokenFreshness(tokens, undefined, clock.now()) === 'stale') {
    const advice = options.refresh ? undefined : `Look with --refresh: ${commands.refreshCommand}.`;
    findings.add(notLooked('service', 'an access token that lives', advice));
    return;
  }
  const how = { now: clock.now, refreshed: refreshed !== undefined, refreshCommand: commands.refreshCommand };
  findings.add(...(await serviceChecks(known, tokens, how)));
}

function notLooked(id: string, lacking: string, advice = 'Mend what failed above, then look again.'): Check {
  return warning(id, `Not looked at, for lack of ${lacking}.`, advice);
}

/** With the options of this command, which find the deployment. */
function commandsFor({ deployment, profile, region, endpointUrl, configuration }: DoctorOptions): Commands {
  const given = { profile, region, 'endpoint-url': endpointUrl, configuration, deployment };
  const options = Object.entries(given).flatMap(([name, value]) => (value ? [`--${name} ${quoted(value)}`] : []));
  return {
    authorizeCommand: `npm run cli -- authorize ${options.join(' ')}`,
    refreshCommand: `npm run cli -- doctor ${options.join(' ')} --refresh`,
  };
}

/** Registers `doctor`; its exit code is 0 only if a nightly run would work. */
export function addDoctor(command: Command): void {
  command
    .option('--configuration <file>', 'default: config/NAME.json', pathArgument)
    .option('--refresh', 'also refresh the grant once, for real: spends one generation of it')
    .option('--json', 'one JSON document')
    .action(async (options: DoctorOptions) => {
      const checks = await doctor(options);
      const text = options.json ? JSON.stringify(documentOf(checks)) : linesOf(checks).join('\n');
      process.stdout.write(`${text}\n`);
      process.exitCode = exitCodeOf(checks);
    });
  withExamples(command, {
    'doctor --deployment prod': 'after authorize, and when a night has failed',
    'doctor --deployment prod --refresh': 'also try the refresh token, which spends one generation of it',
  });
}
