import { CloudFormationClient, paginateListStacks } from '@aws-sdk/client-cloudformation';
import { eachOf } from '../../core/each-of.ts';
import { type AllDeploymentsOptions, CALL_SECONDS } from './command-options.ts';
import { ended } from './ended.ts';
import { CommandError, ENVIRONMENT } from './exit.ts';
import { printErr } from './print.ts';
import { clientSettings, connect, type Target, type TargetOptions } from './target.ts';

/** What was found of a deployment, or in one sentence why it is not known. */
export type Look<T> = { deployment: string } & ({ found: T; why: null } | { found: null; why: string });

/** Step Functions lists executions two to five times a second, by region, for the whole account. */
const AT_ONCE = 5;
const NAME = /^crm-export-([a-z][a-z0-9-]{0,30})$/;

/**
 * Looks at every deployment of the account and region, a few at a time. One that cannot be looked at costs its own answer only.
 * @throws CommandError (exit code 3) where the stacks cannot be listed, or none is a deployment
 */
export async function eachDeployment<T>(
  options: AllDeploymentsOptions,
  look: (options: TargetOptions) => Promise<T>,
): Promise<Look<T>[]> {
  const limited = withLimits(options);
  const names = await deploymentsIn(limited);
  return eachOf(
    names,
    async (deployment): Promise<Look<T>> => {
      try {
        return { deployment, found: await look({ ...limited, deployment }), why: null };
      } catch (error) {
        return { deployment, found: null, why: ended(error).sentence };
      }
    },
    AT_ONCE,
  );
}

/** What `look` finds in each deployment, looked up with what is behind its name. */
export function eachTarget<T>(
  options: AllDeploymentsOptions,
  look: (target: Target, deployment: string) => Promise<T>,
): Promise<Look<T>[]> {
  return eachDeployment(options, async (its) => look(await connect(its), its.deployment));
}

/** The options with a limit for each call. */
export function withLimits<T extends AllDeploymentsOptions>(options: T): T & { callTimeout: number } {
  return { ...options, callTimeout: options.callTimeout ?? CALL_SECONDS };
}

/** Prints a sentence about one of several deployments. */
export function warnOf(deployment: string): (sentence: string) => void {
  return (sentence) => printErr(`${deployment}: ${sentence}`);
}

/** What is known to be bad counts more than what is not known: the smallest code other than 0. */
export function exitCodeOfAll(codes: number[]): number {
  const bad = codes.filter((code) => code !== 0);
  return bad.length > 0 ? Math.min(...bad) : 0;
}

/** The names of all deployments, in alphabetical order: a deployment is a stack `crm-export-NAME`. */
async function deploymentsIn(options: AllDeploymentsOptions): Promise<string[]> {
  const client = new CloudFormationClient(clientSettings(options));
  const names = new Set<string>();
  for await (const { StackSummaries = [] } of paginateListStacks({ client }, {})) {
    for (const { StackName = '', StackStatus = '' } of StackSummaries) {
      const name = NAME.exec(StackName)?.[1];
      // AWS lists a stack for 90 days after it was deleted.
      if (name && StackStatus !== 'DELETE_COMPLETE') names.add(name);
    }
  }
  if (names.size > 0) return [...names].sort();
  const sentence = `There is no deployment here: check --profile and --region (this is ${await client.config.region()}).`;
  throw new CommandError(sentence, ENVIRONMENT);
}
