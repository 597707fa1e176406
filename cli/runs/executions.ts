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
import { countText, printableLine } from '../support/text.ts';
import { type Execution, executionOf, parseState, type Waiting } from './run.ts';

/**
 * Starts a run, named by entity and time: `leads-20261120T020000Z-1a2b3c`, or `leads-release-…`, `leads-table-…`.
 */
export async function startRun(
  { sfn, StateMachineArn: stateMachineArn }: Target,
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

export type EnteredState = ReturnType<typeof enteredIn>[number];

export async function historyOf(client: SFNClient, executionArn: string): Promise<EnteredState[]> {
  const all: HistoryEvent[] = [];
  const wanted = { executionArn, includeExecutionData: true };
  for await (const { events = [] } of paginateGetExecutionHistory({ client }, wanted)) all.push(...events);
  return enteredIn(all);
}

/** The name and time of the last entered state, and the newest state data. */
export async function lastEnteredState(sfn: SFNClient, executionArn: string, abortSignal?: AbortSignal) {
  const newest = { executionArn, reverseOrder: true, maxResults: 100, includeExecutionData: true };
  const { events = [] } = await sfn.send(new GetExecutionHistoryCommand(newest), { abortSignal });
  const entered = enteredIn(events);
  const { name = '', at } = entered[0] ?? {};
  return { name, at, state: entered.find(({ state }) => state !== undefined)?.state };
}

/** The entered states, without those of the type Choice, which take no time and which only AWS records. */
function enteredIn(events: HistoryEvent[]) {
  return events.flatMap(({ type, timestamp, stateEnteredEventDetails: details }) =>
    details?.name && type !== 'ChoiceStateEntered'
      ? [{ name: details.name, at: timestamp, state: parseState(details.input) }]
      : [],
  );
}

export function waitingOf({ name, at, state }: EnteredState): Waiting | null {
  if (!name.startsWith('WaitBefore') || !state || !at) return null;
  const { checks, run, waitSeconds } = state;
  const { error, status, count, deadline } = state.trouble ?? {};
  return {
    state: name,
    checks,
    trouble: error === undefined ? null : { error, status: status ?? null, count: count ?? 1 },
    nextTryAt: new Date(at.getTime() + waitSeconds * 1000).toISOString(),
    deadline: run?.deadline ?? deadline ?? null,
  };
}

/** Where a run is: `CheckStatus, 1 check`, or the text of `waitingText`. */
export function positionText(entered: EnteredState): string {
  const waiting = waitingOf(entered);
  return waiting ? waitingText(waiting) : printableLine(progressText(entered.name, entered.state?.checks ?? 0));
}

/** `WaitBeforeCheck, 2 checks answered, then 3 attempts refused with 503; next try 03:12:05; deadline 07:00:00 UTC` */
export function waitingText({ state, checks, trouble, nextTryAt, deadline }: Waiting, now = new Date()): string {
  const facts = [
    progressText(state, checks, trouble),
    `next try ${clockText(nextTryAt, now)}`,
    deadline && `deadline ${clockText(deadline, now)}`,
  ];
  return printableLine(`${facts.filter(Boolean).join('; ')} UTC`);
}

/** `WaitBeforeCreate, 3 attempts refused with 503`, or failed with an error if there was no answer. */
function progressText(state: string, checks: number, trouble?: Waiting['trouble']): string {
  const answered = checks > 0 && `${countText(checks, 'check')}${trouble ? ' answered' : ''}`;
  const how = trouble?.status ? `refused with ${trouble.status}` : `failed with ${trouble?.error}`;
  const done = [answered, trouble && `${countText(trouble.count, 'attempt')} ${how}`].filter(Boolean).join(', then ');
  return done === '' ? state : `${state}, ${done}`;
}

/** The time, with its date unless that is today. */
function clockText(time: string, now: Date): string {
  const day = time.slice(0, 10);
  const clock = time.slice(11, 19);
  return day === now.toISOString().slice(0, 10) ? clock : `${day} ${clock}`;
}
