import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DescribeExecutionCommand,
  GetExecutionHistoryCommand,
  type HistoryEvent,
  type SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Target } from '../support/target.ts';
import type { FileProgress, Moved } from './file-progress.ts';
import { type Progress, parseState, type RunReport, reportOf, secondsBetween } from './run-report.ts';
import { waitingOf } from './waiting.ts';

/**
 * Starts a run. Its name has entity and time: `leads-20261120T020000Z-1a2b3c`.
 * @returns the ARN of the execution
 */
export async function startRun(
  target: Pick<Target, 'sfn' | 'StateMachineArn'>,
  entity: Entity,
  input: object,
): Promise<string> {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const started = await target.sfn.send(
    new StartExecutionCommand({
      stateMachineArn: target.StateMachineArn,
      name: `${entity}-${stamp}-${randomBytes(3).toString('hex')}`,
      input: JSON.stringify({ entity, ...input }),
    }),
  );
  return started.executionArn ?? '';
}

export interface FollowOptions {
  everyMs?: number;
  signal?: AbortSignal | undefined;
  onProgress?: (progress: Progress) => void;
  /** Reads how far the file is; without it, bytes are known when it is stored. */
  fileProgress?: FileProgress;
}

const MOVING = ['DownloadFile', 'WaitBeforeDownload'];

/**
 * Follows a run to its end. Stopping to follow (`signal`) never stops the run.
 * @throws the signal's reason
 */
export async function followRun(
  sfn: SFNClient,
  entity: Entity,
  executionArn: string,
  options: FollowOptions = {},
): Promise<RunReport> {
  const { everyMs = 1000, signal, onProgress, fileProgress } = options;
  for (;;) {
    const look = { abortSignal: signal };
    const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }), look);
    const seen = await lastSeen(sfn, executionArn, look);
    const moves = execution.status === 'RUNNING' && MOVING.includes(seen.name);
    const moved = moves && seen.state ? await fileProgress?.(seen.state) : undefined;
    onProgress?.({
      entity,
      state: seen.name,
      status: execution.status ?? 'RUNNING',
      checks: seen.state?.checks ?? 0,
      ...bytesOf(seen.state, moved),
      waiting: (execution.status === 'RUNNING' && waitingOf(seen)) || null,
      seconds: secondsBetween(execution.startDate, execution.stopDate ?? new Date()),
    });
    if (execution.status !== 'RUNNING') return reportOf(entity, execution, seen.state);
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

function bytesOf(state: RunState | undefined, moved: Moved | undefined): Pick<Progress, 'bytes' | 'totalBytes'> {
  const stored = state?.file?.bytes;
  if (stored !== undefined) return { bytes: stored, totalBytes: stored };
  return { bytes: moved?.bytes ?? null, totalBytes: moved?.totalBytes ?? null };
}

/** The state entered last, when, and its input, from the newest events. */
export async function lastSeen(
  sfn: SFNClient,
  executionArn: string,
  look: { abortSignal?: AbortSignal | undefined } = {},
): Promise<{ name: string; at: Date | undefined; state: RunState | undefined }> {
  const newest = { executionArn, reverseOrder: true, maxResults: 100, includeExecutionData: true };
  const { events = [] } = await sfn.send(new GetExecutionHistoryCommand(newest), look);
  const entered = events.filter(isStay);
  const states = entered.map((event) => parseState(event.stateEnteredEventDetails?.input));
  const [last] = entered;
  return {
    name: last?.stateEnteredEventDetails?.name ?? '',
    at: last?.timestamp,
    state: states.find((state) => state !== undefined),
  };
}

/** Entering a state other than a Choice, which only AWS records and which takes no time. */
export function isStay({ type, stateEnteredEventDetails }: HistoryEvent): boolean {
  return stateEnteredEventDetails !== undefined && type !== 'ChoiceStateEntered';
}
