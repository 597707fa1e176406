import { ConfigurationError } from '../../core/config/configuration.ts';
import type { Deployed } from '../../core/config/deployed.ts';
import { type Check, type Checked, checked, given } from '../checks/check.ts';
import { broken, holds, warning } from '../checks/finding.ts';
import { lazyClients } from '../support/clients.ts';
import { deployedConfiguration, OtherRelease, unsettledText } from '../support/deployed-configuration.ts';
import { CommandError } from '../support/exit.ts';
import { clientSettings, connect, type Target } from '../support/target.ts';
import { begin, type Doctoring, type DoctorOptions } from './begin.ts';
import { type Configured, configured } from './configuration.ts';
import { GRANT_CHECKS } from './grant.ts';
import { NETWORK_CHECK } from './network.ts';
import { NIGHT_CHECKS } from './night-checks.ts';

/** What there is before a deployment is known. */
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

/** All checks in the order in which a night needs what they ask for. */
export const DOCTOR_CHECKS: Check<Doctoring>[] = [...NIGHT_CHECKS, ...GRANT_CHECKS];

/**
 * Checks everything that a nightly run needs, in the order in which it needs it. What is deployed counts, not the local file.
 * @returns results, also of what cannot be read; none holds a token
 */
export async function doctor(options: DoctorOptions): Promise<Checked[]> {
  const connecting = connect(options);
  // What is wrong with it is reported as the check 'stack'.
  const target = await connecting.catch(() => undefined);
  const reading = target && deployedConfiguration(target, () => undefined);
  const configuration = () => configuredBy(options, reading);
  const beginning = await allOf(BEGINNING, { connecting, configuration }, options);
  // Why there is none is reported as the check 'configuration'.
  const known = await configuration().catch(() => undefined);
  if (!target) return [...beginning, ...(await beforeDeployment(known, options))];
  return [...beginning, ...(await allOf(DOCTOR_CHECKS, begin(target, known, options), options))];
}

/** What can be known of the account before anything is there: whether the configured network has a way out. */
async function beforeDeployment(known: Configured | undefined, options: DoctorOptions): Promise<Checked[]> {
  if (!known?.file?.network) return [];
  const account = () => ({ target: lazyClients(clientSettings(options)), deployment: undefined, known });
  return allOf([given(NETWORK_CHECK, account)], undefined, options);
}

/** By what is deployed. Where another release has deployed the stack the file counts, as before a first deployment. */
async function configuredBy(options: DoctorOptions, reading: Promise<Deployed> | undefined): Promise<Configured> {
  try {
    return configured(options, await reading);
  } catch (error) {
    if (!(error instanceof OtherRelease)) throw error;
    return byFile(options, error);
  }
}

/** @throws OtherRelease where no file can be used either */
function byFile(options: DoctorOptions, other: OtherRelease): Configured {
  try {
    const { finding: _, ...known } = configured(options, undefined);
    const found = `${other.message} Until then the file is looked at here.`;
    return { ...known, finding: broken(found, 'npx cdk deploy', other.exitCode) };
  } catch (error) {
    throw error instanceof ConfigurationError ? other : error;
  }
}

/** One after the other: each may rest on those before it. */
async function allOf<Context>(checks: Check<Context>[], context: Context, options: DoctorOptions): Promise<Checked[]> {
  const results: Checked[] = [];
  for (const check of checks) results.push(...(await checked(check, context, options)));
  return results;
}
