import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  type DescribeExecutionOutput,
  GetExecutionHistoryCommand,
  type HistoryEvent,
  type SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Target } from '../support/target.ts';
import type { FileProgress } from './file-progress.ts';
import { completeRun, type Published } from './run/published.ts';
import { foundRun, type NamedRun, parseState, runOf, secondsBetween } from './run/run.ts';
import { type Seen, type Waiting, waitingOf } from './run/waiting.ts';

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

/** Where a run is right now. */
export interface Progress {
  entity: Entity;
  /** The state that was entered last. */
  state: string;
  status: string;
  checks: number;
  /** Bytes that are stored so far; `null` where it is not known. */
  bytes: number | null;
  totalBytes: number | null;
  waiting: Waiting | null;
  seconds: number;
}

interface FollowOptions {
  everyMs?: number;
  signal?: AbortSignal | undefined;
  onProgress?: (progress: Progress) => void;
  /** Reads how many bytes are stored; where it is left out, they are known when the whole file is. */
  fileProgress?: FileProgress;
  /** Reads what the bucket says of the run; where it is left out, nothing of that is told. */
  published?: Published;
  /** The zone in which a run gets its date that ended before it had one. */
  timeZone?: string | undefined;
}

const MOVING = ['DownloadFile', 'WaitBeforeDownload'];

/**
 * Follows a run to its end. The `signal` ends the following, never the run.
 * @throws the signal's reason
 */
export async function followRun(
  sfn: SFNClient,
  entity: Entity,
  executionArn: string,
  options: FollowOptions = {},
): Promise<NamedRun> {
  const { everyMs = 1000, signal, onProgress, fileProgress } = options;
  const look = { abortSignal: signal };
  for (;;) {
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }), look);
    const { status = 'RUNNING', startDate, stopDate } = execution;
    const running = status === 'RUNNING';
    const seen = await lastSeen(sfn, executionArn, look);
    const { name, state } = seen;
    const moved = running && MOVING.includes(name) && state ? await fileProgress?.(state) : undefined;
    const stored = state?.file?.bytes;
    onProgress?.({
      entity,
      state: name,
      status,
      checks: state?.checks ?? 0,
      bytes: stored ?? moved?.bytes ?? null,
      totalBytes: stored ?? moved?.totalBytes ?? null,
      waiting: (running && waitingOf(seen)) || null,
      seconds: secondsBetween(startDate, stopDate ?? new Date()),
    });
    if (!running) return endOf(entity, { ...execution, executionArn }, state, options);
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

async function endOf(
  entity: Entity,
  execution: DescribeExecutionOutput & { executionArn: string },
  state: RunState | undefined,
  { published, timeZone }: FollowOptions,
): Promise<NamedRun> {
  const { executionArn } = execution;
  const found = { ...foundRun(execution, entity, 'export'), execution };
  const known = { state, timeZone };
  const run = published ? (await completeRun(published, found, known)).run : runOf(found, known);
  return { ...run, entity, executionArn, seconds: run.seconds ?? 0 };
}

/** The state entered last, when, and the newest input. */
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

/** Entering a state other than a Choice, which only AWS records and which takes no time. */
export function isStay({ type, stateEnteredEventDetails }: HistoryEvent): boolean {
  return stateEnteredEventDetails !== undefined && type !== 'ChoiceStateEntered';
}
