import { type Check, type Checked, checked } from '../checks/check.ts';
import { broken, holds } from '../checks/finding.ts';
import { CommandError } from '../support/exit.ts';
import { connect, type Target } from '../support/target.ts';
import { begin, type Doctoring, type DoctorOptions } from './begin.ts';
import { type Configured, configured } from './configuration.ts';
import { GRANT_CHECKS } from './grant-checks.ts';
import { NIGHT_CHECKS } from './night-checks.ts';

/** What there is before a deployment is known. */
interface Beginning {
  connecting: Promise<Target>;
  configuration: () => Configured;
  options: DoctorOptions;
}

const BEGINNING: Check<Beginning>[] = [
  {
    id: 'configuration',
    question: 'Is the configuration file what is deployed?',
    rights: [],
    look: ({ configuration }) => configuration().finding,
  },
  {
    id: 'stack',
    question: 'Is the stack there?',
    rights: ['cloudformation:DescribeStacks on the stack'],
    look: async ({ connecting, options }) => {
      try {
        await connecting;
        return holds(`crm-export-${options.deployment} is there, with all its outputs.`);
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
  const configuration = () => configured(options, target?.deployed);
  const beginning = await allOf(BEGINNING, { connecting, configuration, options }, options);
  if (!target) return beginning;
  return [...beginning, ...(await allOf(DOCTOR_CHECKS, begin(target, orUndefined(configuration), options), options))];
}

/** One after the other: each may rest on those before it. */
async function allOf<Context>(
  checks: Check<Context>[],
  context: Context,
  { deployment }: DoctorOptions,
): Promise<Checked[]> {
  const results: Checked[] = [];
  for (const check of checks) results.push(...(await checked(check, context, deployment)));
  return results;
}

function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
