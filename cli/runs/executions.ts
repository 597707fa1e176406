import { randomBytes } from 'node:crypto';
import {
  GetExecutionHistoryCommand,
  type HistoryEvent,
  paginateGetExecutionHistory,
  type SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import type { Target } from '../support/target.ts';
import { type Execution, executionOf, parseState } from './run.ts';
import type { EnteredState } from './waiting.ts';

/**
 * Starts a run, named by entity and time: `leads-20261120T020000Z-1a2b3c`, or `leads-release-…`, `leads-table-…`.
 */
export async function startRun(
  { sfn, StateMachineArn: stateMachineArn }: Pick<Target, 'sfn' | 'StateMachineArn'>,
  entity: Entity,
  more: object,
  name = timedName([entity, ...['release', 'table'].filter((key) => key in more)].join('-')),
): Promise<Execution> {
  const input = JSON.stringify({ entity, ...more });
  const { executionArn = '' } = await sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
  return executionOf({ executionArn, startDate: new Date(), input });
}

/** A new name that sorts by time: `update-20261120T020000Z-1a2b3c`. */
export function timedName(beginning: string): string {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  return `${beginning}-${stamp}-${randomBytes(3).toString('hex')}`;
}

/** All states that the run entered, oldest first. */
export async function historyOf(client: SFNClient, executionArn: string): Promise<EnteredState[]> {
  const all: HistoryEvent[] = [];
  const wanted = { executionArn, includeExecutionData: true };
  for await (const { events = [] } of paginateGetExecutionHistory({ client }, wanted)) all.push(...events);
  return enteredIn(all);
}

/** The name and time of the last entered state, and the newest state data. */
export async function lastEnteredState(
  sfn: SFNClient,
  executionArn: string,
  options: { abortSignal?: AbortSignal | undefined } = {},
): Promise<EnteredState> {
  const newest = { executionArn, reverseOrder: true, maxResults: 100, includeExecutionData: true };
  const { events = [] } = await sfn.send(new GetExecutionHistoryCommand(newest), options);
  const entered = enteredIn(events);
  const { name = '', at } = entered[0] ?? {};
  return { name, at, state: entered.find(({ state }) => state !== undefined)?.state };
}

/** The entered states, without those of the type Choice, which take no time and which only AWS records. */
function enteredIn(events: HistoryEvent[]): EnteredState[] {
  return events.flatMap(({ type, timestamp, stateEnteredEventDetails: details }) =>
    details?.name && type !== 'ChoiceStateEntered'
      ? [{ name: details.name, at: timestamp, state: parseState(details.input) }]
      : [],
  );
}
