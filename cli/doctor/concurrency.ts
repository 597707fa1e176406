import { GetAccountSettingsCommand } from '@aws-sdk/client-lambda';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { type Finding, holds, unknown, warning } from '../checks/finding.ts';
import type { Target } from '../support/target.ts';

/** Compares the account's concurrency with what this deployment may need. */
export async function concurrency(
  { lambda }: Pick<Target, 'lambda'>,
  deployment: Deployment | undefined,
): Promise<Finding> {
  const { AccountLimit } = await lambda.send(new GetAccountSettingsCommand({}));
  const { ConcurrentExecutions: all, UnreservedConcurrentExecutions: free = all } = AccountLimit ?? {};
  if (all !== undefined && free !== undefined) return judged(all, free, deployment);
  return unknown('AWS Lambda did not say how many functions the account may run at once.', 'Look again.');
}

function judged(all: number, free: number, deployment: Deployment | undefined): Finding {
  const account = `The account may run ${all} functions at once${free < all ? `, ${free} of them not reserved` : ''}`;
  if (!deployment) return holds(`${account}.`);
  const runs = ENTITIES.filter((entity) => deployment.entities[entity].enabled).length;
  const chunks = deployment.customerUpdates ? deployment.updates.concurrency : 0;
  const updates = chunks > 0 ? ` and ${chunks} chunks of a batch of updates` : '';
  const text = `${account}; this deployment may want ${runs + chunks}: ${runs} nightly runs${updates}.`;
  if (runs + chunks <= free) return holds(text);
  const fewer = chunks > 0 && free > runs ? `, or set updates.concurrency to ${free - runs} at most` : '';
  const advice = `What does not fit waits, half an hour at most, a chunk two hours. Have the quota "Concurrent executions" of AWS Lambda raised${fewer}.`;
  return warning(text, advice);
}
