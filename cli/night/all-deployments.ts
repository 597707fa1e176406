import { CloudFormationClient, paginateListStacks } from '@aws-sdk/client-cloudformation';
import { eachOf } from '../../core/each-of.ts';
import { painterOf, SIGNS } from '../runs/run-words.ts';
import { ended } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import { clientSettings, connect, type Target, type TargetOptions } from '../support/target.ts';
import { printableLine } from '../support/text.ts';
import type { Status } from './status-schema.ts';
import { toneOf } from './status-text.ts';

/** The account and region of all deployments. */
type Place = Omit<TargetOptions, 'deployment'>;

/** The status of a deployment, or a sentence that says why it is not known. */
export type DeploymentResult = { deployment: string } & ({ found: Status; why: null } | { found: null; why: string });

/** Deployments at a time: Step Functions allows two to five `ListExecutions` a second for an account, by region. */
const AT_ONCE = 5;
const NAME = /^crm-export-([a-z][a-z0-9-]{0,30})$/;

/**
 * Reads the status of every deployment in the account and region, a few at a time. An unreadable deployment does
 * not stop the others.
 * @throws CommandError (exit code 3) if the stacks cannot be listed, or there is no deployment
 */
export async function eachDeployment(
  place: Place,
  statusOf: (target: Target, deployment: string) => Promise<Status>,
): Promise<DeploymentResult[]> {
  const names = await deploymentsIn(place);
  return eachOf(
    names,
    async (deployment): Promise<DeploymentResult> => {
      try {
        return { deployment, found: await statusOf(await connect({ ...place, deployment }), deployment), why: null };
      } catch (error) {
        return { deployment, found: null, why: ended(error).sentence };
      }
    },
    AT_ONCE,
  );
}

/** The names of all deployments, in alphabetical order: a deployment is a stack `crm-export-NAME`. */
async function deploymentsIn(place: Place): Promise<string[]> {
  const client = new CloudFormationClient(clientSettings(place));
  const names = new Set<string>();
  for await (const { StackSummaries = [] } of paginateListStacks({ client }, {})) {
    for (const { StackName = '', StackStatus = '' } of StackSummaries) {
      const name = NAME.exec(StackName)?.[1];
      // AWS lists a stack for 90 days after its deletion.
      if (name && StackStatus !== 'DELETE_COMPLETE') names.add(name);
    }
  }
  if (names.size > 0) return [...names].sort();
  const sentence = `There is no deployment in this account and region: check --profile and --region (this is ${await client.config.region()}).`;
  throw new CommandError(sentence, ENVIRONMENT);
}

const FIRST = ['bad', 'unknown', 'open', 'good'] as const;

/** A line for each deployment, with the worst first. */
export function allText(looks: DeploymentResult[], stream: { isTTY?: boolean }): string {
  const paint = painterOf(stream);
  const rows = looks.map((each) => ({ ...each, tone: each.found ? toneOf(each.found) : 'unknown' }) as const);
  const sorted = rows.toSorted((one, other) => FIRST.indexOf(one.tone) - FIRST.indexOf(other.tone));
  return sorted
    .map(({ deployment, found, why, tone }) => {
      const alarms = found?.alarms?.length === 0 ? '' : `; alarms: ${found?.alarms?.join(', ') ?? 'unknown'}`;
      const text = found ? `${found.headline}${alarms}` : `unknown: ${printableLine(why ?? '')}`;
      return paint(tone)(`${SIGNS[tone]} ${deployment}: ${text}`);
    })
    .join('\n');
}
