import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { raisedAlarms } from '../night/raised-alarms.ts';
import { eachTarget, exitCodeOfAll, type Look, withLimits } from '../support/all-deployments.ts';
import type { AllDeploymentsOptions } from '../support/command-options.ts';
import { ended } from '../support/ended.ts';
import { ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import { clientSettings } from '../support/target.ts';
import { type DeploymentRow, deploymentRow } from './deployment-row.ts';

/** All deployments, each with what is known of it. */
export interface Fleet {
  madeAt: string;
  deployments: Look<DeploymentRow>[];
}

/** @param warn called for what could not be read of all of them */
export async function fleetOf(options: AllDeploymentsOptions, warn: (sentence: string) => void): Promise<Fleet> {
  const now = new Date();
  const alarms = await raisedAlarms(new CloudWatchClient(clientSettings(withLimits(options)))).catch(
    (error: unknown) => {
      warn(`Which alarms are raised is not shown: ${ended(error).sentence}`);
      return null;
    },
  );
  const deployments = await eachTarget(options, (target, deployment) =>
    deploymentRow(target, { deployment, alarms, now }),
  );
  return { madeAt: now.toISOString(), deployments };
}

/** 1 where something is missing of a last night, 3 where one is not known. */
export function exitCodeOfFleet({ deployments }: Fleet): number {
  return exitCodeOfAll(
    deployments.map(({ found }) => (found === null ? ENVIRONMENT : found.tone === 'bad' ? RUN_FAILED : 0)),
  );
}

/** The document of `--json`: a row for each deployment, also for one that is not known. */
export function documentOfFleet({ madeAt, deployments }: Fleet) {
  return { madeAt, deployments: deployments.map(({ deployment, found, why }) => ({ deployment, why, ...found })) };
}
