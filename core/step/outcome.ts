import type * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import type { RunFields } from '../log/log-fields.ts';
import type { Invocation } from './invocation.ts';
import { nextWait, type Pacing, pacingOf, requestedEntity } from './pacing.ts';
import { exportRunEnd, type RunEnd } from './run-end.ts';
import { type RunState, runStateSchema, type Trouble } from './states.ts';
import { ALL_STEPS, type Answered, type AnyStepName, type StepName } from './steps.ts';

/** An outcome of a step and the parts of the state that it changes. */
export type Answer<S extends StepName> = AnswerOf<RunState, S>;

/** The same in any machine: `T` is the state that passes between its steps. */
export type AnswerOf<T extends AnyState, S extends AnyStepName> = { outcome: Answered<S> } & Partial<
  Omit<Known<T>, 'outcome' | 'failure'>
>;

/** Without unknown keys: a misspelt one does not compile. */
type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** The part of the state that all machines have. */
export type AnyState = Pick<
  RunState,
  'input' | 'execution' | 'waits' | 'trouble' | 'outcome' | 'waitSeconds' | 'failure'
>;

export interface Machine<T extends AnyState> {
  schema: z.core.$ZodType<T>;
  pacing: (state: T, invocation: Invocation) => Pacing;
  /** Names the run in every log line. */
  about: (state: T) => RunFields;
  /** Metrics where the run ends with this answer. */
  endOf: (answer: T, now: Date) => RunEnd | undefined;
}

export const EXPORT_RUN: Machine<RunState> = {
  schema: runStateSchema,
  pacing: (state, { deployment }) => pacingOf(state, deployment),
  about: ({ run, input, execution }) => ({
    entity: run?.entity ?? requestedEntity(input),
    execution,
    exportId: run?.exportId,
  }),
  endOf: exportRunEnd,
};

/**
 * The next state. A `final` error becomes FAILED with its name and a sentence; a `transient` one the step's waiting outcome
 * until the deadline, then FAILED.
 * @throws what is no RunError: a bug
 */
export async function outcomeOf<T extends AnyState>(
  machine: Machine<T>,
  name: AnyStepName,
  state: T,
  invocation: Invocation,
  step: () => Promise<Partial<T>>,
): Promise<T> {
  try {
    return { ...state, trouble: null, ...(await step()) };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const trouble = error.transient ? troubleAfter(error, state, machine.pacing(state, invocation)) : null;
    const wait = trouble && waitOf(machine, state, invocation, error.retryAfterSeconds);
    if (wait) return { ...state, ...wait, trouble, outcome: ALL_STEPS[name].waiting };
    // A huge input would break the limit of a state, and hide the error.
    return { ...state, input: null, trouble, outcome: 'FAILED', failure: error.failure };
  }
}

/** The next wait of a run as a part of its state, or `undefined` when its deadline has passed. */
export function waitFor(state: RunState, invocation: Invocation, retryAfterSeconds?: number): Wait | undefined {
  return waitOf(EXPORT_RUN, state, invocation, retryAfterSeconds);
}

/** The same after an error, which becomes the `trouble` of the state. */
export function waitAfter(error: RunError, state: RunState, invocation: Invocation): Wait | undefined {
  const wait = waitFor(state, invocation, error.retryAfterSeconds);
  return wait && { ...wait, trouble: troubleOf(error, state, invocation) };
}

export function troubleOf(error: RunError, state: RunState, invocation: Invocation): Trouble {
  return troubleAfter(error, state, EXPORT_RUN.pacing(state, invocation));
}

function troubleAfter({ name, status }: RunError, { trouble }: AnyState, { deadline }: Pacing): Trouble {
  return { error: name, status: status ?? null, count: (trouble?.count ?? 0) + 1, deadline: deadline.toISOString() };
}

type Wait = Pick<AnyState, 'waits' | 'waitSeconds'> & { trouble?: Trouble };

function waitOf<T extends AnyState>(
  machine: Machine<T>,
  state: T,
  invocation: Invocation,
  retryAfterSeconds?: number,
): Wait | undefined {
  const clock = { now: invocation.now(), random: invocation.random };
  const waitSeconds = nextWait(state.waits, machine.pacing(state, invocation), clock, retryAfterSeconds);
  return waitSeconds === undefined ? undefined : { waits: state.waits + 1, waitSeconds };
}
