import type { Context } from 'aws-lambda';
import type { RunError } from '../errors.ts';
import { aboutRun } from './about-run.ts';
import { type Connect, handlerOf, type Step } from './handler.ts';
import { type Invocation, lambdaPlatform, type Platform } from './invocation.ts';
import { nightInput } from './night-input.ts';
import { type AnswerOf, type Machine, type Wait, waitOf, warnOfWait } from './outcome.ts';
import { pacingOf } from './pacing.ts';
import { exportRunEnd } from './run-end.ts';
import { type RunState, runStateSchema, type Trouble } from './states.ts';
import type { StepName } from './steps.ts';

const EXPORT_RUN: Machine<RunState> = {
  schema: runStateSchema,
  pacing: (state, { deployment }) => pacingOf(state, deployment),
  about: aboutRun,
  inputKept: nightInput,
  troubleAfter: (error, state, invocation) => ({ trouble: error ? troubleOf(error, state, invocation) : null }),
  endOf: exportRunEnd,
};

/** What a step of ExportRun returns: an outcome of its own and the parts of the state that it changes. */
export type Answer<S extends StepName> = AnswerOf<RunState, S>;

/** A Lambda handler of a step of ExportRun. */
export function asStep<S extends StepName, D extends Invocation>(
  name: S,
  step: Step<RunState, D, Answer<S>>,
  connect: Connect<D>,
  platform: Platform = lambdaPlatform(name),
): (event: unknown, context: Context) => Promise<RunState> {
  return handlerOf(EXPORT_RUN, name, step, connect, platform);
}

/** The next wait of a run as a part of its state, or `undefined` when its deadline has passed. */
export function waitFor(state: RunState, invocation: Invocation, retryAfterSeconds?: number): Wait | undefined {
  return waitOf(EXPORT_RUN, state, invocation, retryAfterSeconds);
}

/** Waits after an error, which becomes the `trouble` of the state. */
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
