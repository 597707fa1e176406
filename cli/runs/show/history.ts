import { type HistoryEvent, paginateGetExecutionHistory, type SFNClient } from '@aws-sdk/client-sfn';
import type { RunState } from '../../../core/step/states.ts';
import { isStay } from '../executions.ts';
import { parseState } from '../run/run.ts';

export type Phase = 'begin' | 'create' | 'check' | 'download' | 'publish' | 'table' | 'changes' | 'end';

/** A stay in one state of the machine. */
export interface Stay {
  name: string;
  from: Date;
  /** When the next state was entered, or the execution ended, or now. */
  to: Date;
  /** The input of the state, and of the next one; the last of a failed run has no `after`. */
  before: RunState | undefined;
  after: RunState | undefined;
}

/** Consecutive stays for one purpose, such as checks and the waits between them. */
export interface Stretch {
  phase: Phase;
  stays: Stay[];
}

const PHASES: Record<string, Phase> = {
  BeginRun: 'begin',
  CreateExport: 'create',
  WaitBeforeCreate: 'create',
  CheckStatus: 'check',
  WaitBeforeCheck: 'check',
  DownloadFile: 'download',
  WaitBeforeDownload: 'download',
  PublishFile: 'publish',
  WaitBeforePublish: 'publish',
  WriteTable: 'table',
  WaitBeforeTable: 'table',
  WriteChanges: 'changes',
  WaitBeforeChanges: 'changes',
};

export async function historyOf(client: SFNClient, executionArn: string): Promise<HistoryEvent[]> {
  const all: HistoryEvent[] = [];
  const wanted = { executionArn, includeExecutionData: true };
  for await (const { events = [] } of paginateGetExecutionHistory({ client }, wanted)) all.push(...events);
  return all;
}

/** @param end when the execution ended, or now; @param output of an execution that succeeded */
export function stretchesOf(events: HistoryEvent[], end: Date, output: string | undefined): Stretch[] {
  // The entries of states are enough, and every engine writes them: the input of a state is the answer of the one
  // before.
  const entered = events
    .filter(isStay)
    .flatMap(({ timestamp, stateEnteredEventDetails: details }) =>
      timestamp && details?.name ? [{ name: details.name, at: timestamp, state: parseState(details.input) }] : [],
    );
  const stretches: Stretch[] = [];
  entered.forEach(({ name, at, state }, index) => {
    const next = entered[index + 1];
    const phase = PHASES[name] ?? 'end';
    const after = next ? next.state : parseState(output);
    const stay = { name, from: at, to: next?.at ?? end, before: state, after };
    const last = stretches.at(-1);
    if (last?.phase === phase) last.stays.push(stay);
    else stretches.push({ phase, stays: [stay] });
  });
  return stretches;
}

/** Seconds in states of a name, or in all. */
export function secondsIn({ stays }: Stretch, name?: string): number {
  const wanted = stays.filter((stay) => name === undefined || stay.name === name);
  return wanted.reduce((sum, { from, to }) => sum + Math.max(0, to.getTime() - from.getTime()), 0) / 1000;
}
