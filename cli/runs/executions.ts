import { randomBytes } from 'node:crypto';
import {
  GetExecutionHistoryCommand,
  type HistoryEvent,
  type SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import type { Target } from '../support/target.ts';
import { parseState } from './run.ts';
import type { Seen } from './waiting.ts';

/**
 * Starts a run, named by entity and time: `leads-20261120T020000Z-1a2b3c`, or `leads-release-…`, `leads-table-…`.
 * @returns the ARN of the execution
 */
export async function startRun(
  target: Pick<Target, 'sfn' | 'StateMachineArn'>,
  entity: Entity,
  input: object,
  name = nameOf([entity, ...['release', 'table'].filter((key) => key in input)].join('-')),
): Promise<string> {
  const started = await target.sfn.send(
    new StartExecutionCommand({
      stateMachineArn: target.StateMachineArn,
      name,
      input: JSON.stringify({ entity, ...input }),
    }),
  );
  return started.executionArn ?? '';
}

function nameOf(beginning: string): string {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  return `${beginning}-${stamp}-${randomBytes(3).toString('hex')}`;
}

/** The name and time of the last entered state, and the newest state data. */
export async function lastSeen(
  sfn: SFNClient,
  executionArn: string,
  look: { abortSignal?: AbortSignal | undefined } = {},
): Promise<Seen> {
  const newest = { executionArn, reverseOrder: true, maxResults: 100, includeExecutionData: true };
  const { events = [] } = await sfn.send(new GetExecutionHistoryCommand(newest), look);
  const entered = events.filter(isStay);
  const states = entered.map(({ stateEnteredEventDetails: details }) => parseState(details?.input));
  const [last] = entered;
  const name = last?.stateEnteredEventDetails?.name ?? '';
  return { name, at: last?.timestamp, state: states.find((state) => state !== undefined) };
}

/** Whether the event enters a state other than a Choice, which takes no time and which only AWS records. */
export function isStay({ type, stateEnteredEventDetails }: HistoryEvent): boolean {
  return stateEnteredEventDetails !== undefined && type !== 'ChoiceStateEntered';
}
