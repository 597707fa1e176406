import { setTimeout as sleep } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionCommandOutput,
  type ExecutionListItem,
  paginateListExecutions,
} from '@aws-sdk/client-sfn';
import { keysOf } from '../../core/batch/batch-keys.ts';
import { eachOf } from '../../core/each-of.ts';
import { batchOf } from './status.ts';
import type { UpdatesTarget } from './updates-target.ts';

/** The quota of DescribeExecution is some hundreds at once, then some a second (https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html). */
const PAUSE_MS = 2000;
const MOST_PAUSES = 60;

type Described = Map<string | undefined, DescribeExecutionCommandOutput>;
/** What became of executions that are over: a command looks several times. */
const over = new WeakMap<UpdatesTarget, Described>();

/**
 * The batches of executions that began at a moment or later, newest first: those under way, and those that sent a line or may have.
 */
export async function batchesSince(target: UpdatesTarget, since: Date): Promise<string[]> {
  const { sfn, store, UpdatesStateMachineArn: stateMachineArn } = target;
  const found: ExecutionListItem[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client: sfn }, { stateMachineArn })) {
    // Step Functions lists the newest first.
    const later = executions.filter(({ startDate }) => startDate && startDate >= since);
    found.push(...later);
    if (later.length < executions.length) break;
  }
  const known: Described = over.get(target) ?? new Map();
  over.set(target, known);
  const batches = await eachOf(found, async ({ executionArn }) => {
    const execution = known.get(executionArn) ?? (await describe(target, executionArn));
    if (execution.status !== 'RUNNING') known.set(executionArn, execution);
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
