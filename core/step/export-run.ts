import type { Deployment } from '../config/deployment.ts';
import type { RunError } from '../errors.ts';
import { aboutRun, failedOnPurpose, nightInput, requestedEntity } from './run-input.ts';
import { type RunState, runStateSchema, type Trouble } from './states.ts';
import {
  type AnswerOf,
  failedEnd,
  handlersOf,
  type Invocation,
  type Machine,
  type Pacing,
  type RunEnd,
  type Wait,
  waitOf,
  warnOfWait,
} from './step.ts';
import type { StepName } from './steps.ts';

const EXPORT_RUN: Machine<RunState> = {
  schema: runStateSchema,
  pacing: (state, { deployment }) => pacingOf(state, deployment),
  about: aboutRun,
  inputKept: nightInput,
  troubleAfter: (error, state, invocation) => ({ trouble: error ? troubleOf(error, state, invocation) : null }),
  endOf: exportRunEnd,
};

/** The answer of a step of ExportRun: one of its outcomes, and the parts of the state that it changes. */
export type Answer<S extends StepName> = AnswerOf<RunState, S>;

/** A Lambda handler of a step of ExportRun. */
export const asStep = handlersOf<RunState, StepName>(EXPORT_RUN);

/** The next wait of a run as a part of its state, or `undefined` when its deadline has passed. */
export function waitFor(state: RunState, invocation: Invocation, retryAfterSeconds?: number): Wait | undefined {
  return waitOf(EXPORT_RUN, state, invocation, retryAfterSeconds);
}

/** The next wait after an error. The error becomes the `trouble` of the state. */
export function waitAfter(
  error: RunError,
  state: RunState,
  invocation: Invocation,
): (Wait & { trouble: Trouble }) | undefined {
  const wait = waitFor(state, invocation, error.retryAfterSeconds);
  if (wait) warnOfWait(error, wait, invocation);
  return wait && { ...wait, trouble: troubleOf(error, state, invocation) };
}

export function troubleOf({ name, status }: RunError, state: RunState, { deployment }: Invocation): Trouble {
  const count = (state.trouble?.count ?? 0) + 1;
  const { deadline } = pacingOf(state, deployment);
  return { error: name, status: status ?? null, count, deadline: deadline.toISOString() };
}

/** Retries after the deadline for a file that is stored completely. */
export const LATE = { waitSeconds: 30, tries: 5 } as const;

/** The answer to a transient error after the deadline; `undefined` before it and after the last try. */
export function lateTry(error: RunError, state: RunState, invocation: Invocation) {
  if (waitFor(state, invocation) || state.lateTries >= LATE.tries) return undefined;
  const { waitSeconds } = LATE;
  const trouble = troubleOf(error, state, invocation);
  return { outcome: 'CONTINUE' as const, lateTries: state.lateTries + 1, waitSeconds, trouble };
}

/** The pacing of the run if it has begun, else the configured one. */
export function pacingOf(state: RunState, deployment: Deployment): Pacing {
  if (state.run) return { ...state.run, deadline: new Date(state.run.deadline) };
  const entity = requestedEntity(state.input);
  const polling = entity ? deployment.entities[entity].polling : deployment.polling;
  return { ...polling, deadline: deadlineOf(state.startedAt, polling.deadlineSeconds) };
}

export function deadlineOf(startedAt: string, deadlineSeconds: number): Date {
  return new Date(Date.parse(startedAt) + deadlineSeconds * 1000);
}

/**
 * How an ExportRun ended; `undefined` if the run continues. Failures of the state machine itself are in the metrics of
 * Step Functions.
 */
export function exportRunEnd(answer: RunState, now: Date): RunEnd | undefined {
  if (answer.outcome === 'UNPUBLISHED') return { outcome: answer.outcome, measures: { RunsEnded: 1 } };
  // The file was counted as published before, and its table exists: only the feed is missing.
  if (answer.outcome === 'FAILED' && lacksChanges(answer)) return undefined;
  if (answer.outcome === 'FAILED' && lacksTable(answer))
    return { outcome: 'TableNotWritten', measures: { TablesNotWritten: 1 } };
  if (answer.outcome !== 'PUBLISHED' && answer.outcome !== 'TABLE_DUE') return failedExport(answer);
  const { startedAt, file, rows, warningCount, checks, run, released } = answer;
  return {
    // A run with its own plan does not count as the nightly export: the entity may still lack one.
    outcome: (run ?? released)?.kind === 'partial' ? 'PARTIAL' : 'PUBLISHED',
    measures: {
      RunsEnded: 1,
      // The two times come from different clocks. A release exports nothing.
      RunDuration: released ? undefined : Math.max(0, (now.getTime() - Date.parse(startedAt)) / 1000),
      FileBytes: file?.bytes,
      FileRows: rows ?? undefined,
      StatusChecks: released ? undefined : checks,
      FileWarnings: warningCount || undefined,
      SchemaChanges: run?.schemaChanges || undefined,
    },
  };
}

/** Whether only the table is missing. The metrics have counted the file: for this run, or the run that stored it. */
function lacksTable({ manifestKey, failure }: RunState): boolean {
  return manifestKey !== null || failure?.error === 'TableNotWritten';
}

function lacksChanges({ failure }: RunState): boolean {
  return failure?.error === 'ChangesStopped' || failure?.error === 'ChangesNotWritten';
}

/** Counts the schema changes of a stopped file as well, because its later release does not count them. */
function failedExport(answer: RunState): RunEnd | undefined {
  const end = failedEnd(answer);
  if (failedOnPurpose(answer.input, end?.outcome)) return { outcome: 'VERIFY', measures: { RunsEnded: 1 } };
  const changes = { SchemaChanged: 1, FileQuarantined: answer.run?.schemaChanges }[end?.outcome ?? ''];
  return end && changes ? { ...end, measures: { ...end.measures, SchemaChanges: changes } } : end;
}
