import type { Command } from 'commander';
import { ConfigurationError } from '../../core/config/configuration.ts';
import type { Deployed } from '../../core/config/deployed.ts';
import { pathArgument, withExamples } from '../support/command-options.ts';
import { deployedConfiguration, OtherRelease, unsettledText } from '../support/deployed-configuration.ts';
import { CommandError } from '../support/exit.ts';
import { printJson, printOut } from '../support/print.ts';
import { clientSettings, connect, lazyClients, type Target } from '../support/target.ts';
import { colorsFor, manyText } from '../support/text.ts';
import { type Configured, configured } from './doctor-configuration.ts';
import { begin, type Doctoring, type DoctorOptions } from './doctor-look.ts';
import { GRANT_CHECKS } from './grant-checks.ts';
import {
  broken,
  type Check,
  type Checked,
  checked,
  countOf,
  documentOf,
  given,
  holds,
  textOf,
  type Verdict,
  warning,
} from './health-check.ts';
import { NETWORK_CHECK } from './network-checks.ts';
import { NIGHT_CHECKS } from './night-checks.ts';

/** Registers `doctor`; its exit code is 0 only if a nightly run would work. */
export function addDoctor(command: Command): void {
  command
    .option('--configuration <file>', 'default: config/NAME.json', pathArgument)
    .option('--refresh', 'also refresh the grant once, for real: spends one generation of it')
    .option('--all', 'also print the checks that passed')
    .option('--json', 'one JSON document')
    .action(async (options: DoctorOptions) => {
      const checks = await doctor(options);
      process.exitCode = exitCodeOf(checks);
      if (options.json) printJson(documentOf(checks, process.exitCode === 0));
      else printOut(linesOf(checks, process.stdout, options.all).join('\n'));
    });
  withExamples(command, {
    'doctor --deployment prod': 'after authorize, and when a night has failed',
    'doctor --deployment prod --refresh': 'also try the refresh token, which spends one generation of it',
  });
}

/** The exit code of the first failed check. Checks are ordered by cause, so this is the cause of the failure. */
export function exitCodeOf(checks: Checked[]): number {
  return checks.find(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0;
}

/** The lines of all checks: failed ones first, the conclusion last. @param all lists passed checks too */
export function linesOf(checks: Checked[], stream: { isTTY?: boolean } = {}, all = false): string[] {
  const having = (wanted: Verdict) => checks.filter(({ verdict }) => verdict === wanted);
  const worst = [...having('broken'), ...having('unknown'), ...having('warning')];
  const held = having('holds');
  const passed = all || held.length === 0 ? held.map((check) => textOf(check, stream)) : [foldedText(held, stream)];
  return [...worst.map((check) => textOf(check, stream)), ...passed, conclusionOf(checks)];
}

function foldedText(held: Checked[], stream: { isTTY?: boolean }): string {
  return colorsFor(stream).green(`✓ ${manyText(held.length, 'check')} passed; to see them, add --all.`);
}

function conclusionOf(checks: Checked[]): string {
  const count = countOf(checks, 'broken');
  if (count > 0) return `A nightly run would ${troubleOf(checks)}: see ✗ (${count}).`;
  return exitCodeOf(checks) === 0 ? good(checks) : 'Whether a nightly run would work cannot be told: see ?.';
}

/** How a nightly run would end with these broken checks: if only rules are broken, it would not start as deployed. */
function troubleOf(checks: Checked[]): string {
  const isRules = checks.every(({ id, verdict }) => verdict !== 'broken' || id === 'rules');
  return isRules ? 'not come as it was deployed' : 'fail';
}

/** Whether the rules could not be read, or do not start every configured entity every night. */
function mayNotCome(checks: Checked[]): boolean {
  return checks.some(({ id, verdict }) => id === 'rules' && verdict !== 'holds');
}

/** The conclusion if no check is broken. Only a call to the CRM with the grant proves that the grant works. */
function good(checks: Checked[]): string {
  if (mayNotCome(checks)) return 'Nothing was found that stops a nightly run, but not every night may come: see rules.';
  if (checks.some(({ id, verdict }) => id === 'grant-stored' && verdict === 'warning')) {
    return 'Nothing was found that stops a nightly run, but no function has refreshed the grant yet: see grant-stored.';
  }
  const isTried = checks.some(({ id, verdict }) => id === 'service' && verdict === 'holds');
  const unknownColumns = checks.some(({ id }) => id === 'columns');
  if (isTried && !unknownColumns) return 'A nightly run would work.';
  if (isTried) return 'Nothing was found that stops a nightly run, but not all of the deployed columns were looked at.';
  const isRefreshed = checks.some(({ id }) => id === 'refresh');
  const what = 'Nothing was found that stops a nightly run, but the grant was not tried';
  return isRefreshed ? `${what} at the CRM.` : `${what}: add --refresh.`;
}

/** Context of the first checks, before the deployment is known. */
interface Beginning {
  connecting: Promise<Target>;
  configuration: () => Promise<Configured>;
}

const BEGINNING: Check<Beginning>[] = [
  {
    id: 'configuration',
    question: 'Is the configuration file what is deployed?',
    rights: ['cloudformation:GetTemplate on the stack'],
    look: async ({ configuration }) => (await configuration()).finding,
  },
  {
    id: 'stack',
    question: 'Is the stack there?',
    rights: ['cloudformation:DescribeStacks on the stack'],
    look: async ({ connecting }) => {
      try {
        const target = await connecting;
        const between = unsettledText(target);
        if (between === undefined) return holds(`${target.stack} is there, with all its outputs.`);
        return warning(between, 'Wait until the deployment has ended; if it has failed, deploy again.');
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        const advice = 'Check --deployment, --profile, --region and --endpoint-url, or deploy the stack.';
        return broken(error.message, advice, error.exitCode);
      }
    },
  },
];

/** All checks, in the order in which a nightly run needs what they check. */
export const DOCTOR_CHECKS: Check<Doctoring>[] = [...NIGHT_CHECKS, ...GRANT_CHECKS];

/**
 * Checks everything that a nightly run needs, in the order in which it needs it, against the deployed configuration.
 * @returns the results, including checks that could not be made; no result contains a token
 */
export async function doctor(options: DoctorOptions): Promise<Checked[]> {
  const connecting = connect(options);
  // The check 'stack' reports an error of connecting.
  const target = await connecting.catch(() => undefined);
  const reading = target && deployedConfiguration(target, () => undefined);
  const configuration = () => configuredBy(options, reading);
  const beginning = await allOf(BEGINNING, { connecting, configuration }, options);
  // The check 'configuration' reports why the configuration is missing.
  const known = await configuration().catch(() => undefined);
  if (!target) return [...beginning, ...(await beforeDeployment(known, options))];
  return [...beginning, ...(await allOf(DOCTOR_CHECKS, begin(target, known, options), options))];
}

/** Checks that are possible before the first deployment: whether the configured network has a way out. */
async function beforeDeployment(known: Configured | undefined, options: DoctorOptions): Promise<Checked[]> {
  if (!known?.file?.network) return [];
  const account = () => ({ target: lazyClients(clientSettings(options)), deployment: undefined, known });
  return allOf([given(NETWORK_CHECK, account)], undefined, options);
}

/** The deployed configuration. If another release deployed the stack, the file counts, as before a first deployment. */
async function configuredBy(options: DoctorOptions, reading: Promise<Deployed> | undefined): Promise<Configured> {
  try {
    return configured(options, await reading);
  } catch (error) {
    if (!(error instanceof OtherRelease)) throw error;
    return byFile(options, error);
  }
}

/** @throws OtherRelease if there is no valid file either */
function byFile(options: DoctorOptions, other: OtherRelease): Configured {
  try {
    const { finding: _, ...known } = configured(options, undefined);
    const found = `${other.message} Until then the file is looked at here.`;
    return { ...known, finding: broken(found, 'npx cdk deploy', other.exitCode) };
  } catch (error) {
    throw error instanceof ConfigurationError ? other : error;
  }
}

/** Makes the checks in order, because each may depend on the earlier ones. */
async function allOf<Context>(checks: Check<Context>[], context: Context, options: DoctorOptions): Promise<Checked[]> {
  const results: Checked[] = [];
  for (const check of checks) results.push(...(await checked(check, context, options)));
  return results;
}
