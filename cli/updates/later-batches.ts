import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, type ExecutionListItem, paginateListExecutions } from '@aws-sdk/client-sfn';
import { keysOf } from '../../core/batch/batch-keys.ts';
import { eachOf } from '../../core/each-of.ts';
import { commandFor } from '../support/command-options.ts';
import type { TargetOptions } from '../support/target.ts';
import { inputOf } from './batch-lines.ts';
import { resumedName } from './resumed-name.ts';
import { refused } from './source.ts';
import { batchOf, executionOf } from './status.ts';
import type { UpdatesTarget } from './updates-target.ts';

const LISTED = 10;

/**
 * Refuses to resume a batch after which others began: older values would replace newer ones where both change the same customer.
 * @throws CommandError (exit code 2) that lists the later batches, or says that nothing shows them
 */
export async function refuseLaterBatches(target: UpdatesTarget, batch: string, options: TargetOptions): Promise<void> {
  const begun = (await executionOf(target, batch))?.startDate;
  if (!begun) {
    for await (const _ of inputOf(target.store, batch)) break;
    throw refused(
      `Step Functions keeps no execution of ${batch} any more, so the batches that began later are not known. Add --over-newer to send its lines even if a later batch changed the same customers.`,
    );
  }
  // Somebody who resumes at the same time sends the same lines.
  const own = [batch, resumedName(batch)];
  const later = (await batchesSince(target, begun)).filter((name) => !own.includes(name));
  if (later.length === 0) return;
  const more = later.length > LISTED ? ` and ${later.length - LISTED} more` : '';
  const lines = commandFor(`update-status ${batch} --failed-to FILE.jsonl`, options);
  throw refused(
    `Batches that began after ${batch} may have changed the same customers: ${later.slice(0, LISTED).join(', ')}${more}. To compare the lines yourself, write them to a file: ${lines}. To send them as they are, add --over-newer.`,
  );
}

/** The quota of DescribeExecution is some hundreds at once, then some a second (https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html). */
const PAUSE_MS = 2000;
const MOST_PAUSES = 60;

/** The batches of executions that began at a moment or later, newest first: those that run, and those that claimed their batch. */
async function batchesSince(target: UpdatesTarget, since: Date): Promise<string[]> {
  const { sfn, store, UpdatesStateMachineArn: stateMachineArn } = target;
  const found: ExecutionListItem[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, { stateMachineArn })) {
    // Step Functions lists the newest first.
    const later = executions.filter(({ startDate }) => startDate && startDate >= since);
    found.push(...later);
    if (later.length < executions.length) break;
  }
  const batches = await eachOf(found, async ({ executionArn }) => {
    const execution = await describe(target, executionArn);
    const batch = batchOf(execution);
    if (batch === undefined || execution.error === 'UpdateAlreadyStarted') return [];
    // Without a claim nothing was sent.
    return execution.status === 'RUNNING' || (await store.read(keysOf(batch).started)) ? [batch] : [];
  });
  return [...new Set(batches.flat())];
}

async function describe({ sfn }: UpdatesTarget, executionArn: string | undefined) {
  for (let pauses = 0; ; pauses += 1) {
    try {
      return await sfn.send(new DescribeExecutionCommand({ executionArn }));
    } catch (error) {
      const tooOften = error instanceof Error && error.name === 'ThrottlingException';
      if (!tooOften || pauses === MOST_PAUSES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
