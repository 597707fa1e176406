import type * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import type { RunFields } from '../log/log-fields.ts';
import type { Invocation } from './invocation.ts';
import { nextWait, type Pacing } from './pacing.ts';
import type { RunEnd } from './run-end.ts';
import { ALL_STEPS, type Answered, type AnyStepName } from './steps.ts';

/** An outcome of a step and the parts of the state that it changes; `T` is the state of its machine. */
export type AnswerOf<T extends AnyState, S extends AnyStepName> = { outcome: Answered<S> } & Partial<
  Omit<Known<T>, 'outcome' | 'failure'>
>;

/** A type without unknown keys: a misspelt one does not compile. */
type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** The part of the state that all machines have. */
export interface AnyState {
  machineVersion: number;
  input: unknown;
  execution: string;
  waits: number;
  outcome: string | null;
  waitSeconds: number;
  failure: { error: string; cause: string } | null;
}

export interface Machine<T extends AnyState> {
  schema: z.core.$ZodType<T>;
  pacing: (state: T, invocation: Invocation) => Pacing;
  /** Names the run in every log line. */
  about: (state: T) => RunFields;
  /** What remains of the input in the state of a run that fails: little, for a huge one would break the limit of a state. */
  inputKept: (input: unknown) => unknown;
  /** What the state says of the transient error of this invocation, or of none. */
  troubleAfter: (error: RunError | undefined, state: T, invocation: Invocation) => Partial<T>;
  /** Metrics where the run ends with this answer. */
  endOf: (answer: T, now: Date) => RunEnd | undefined;
}

/**
 * The next state. A `final` error becomes FAILED with its name and a sentence; a `transient` one the step's waiting outcome
 * until the deadline, then FAILED.
 * @throws what is no RunError: a bug
 */
export async function nextState<T extends AnyState>(
  machine: Machine<T>,
  name: AnyStepName,
  state: T,
  invocation: Invocation,
  step: () => Promise<Partial<T>>,
): Promise<T> {
  try {
    return { ...state, ...machine.troubleAfter(undefined, state, invocation), ...(await step()) };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const trouble = machine.troubleAfter(error.transient ? error : undefined, state, invocation);
    const wait = error.transient && waitOf(machine, state, invocation, error.retryAfterSeconds);
    if (wait) warnOfWait(error, wait, invocation);
    if (wait) return { ...state, ...trouble, ...wait, outcome: ALL_STEPS[name].waiting };
    const failure = error.failureOf(machine.about(state));
    return { ...state, ...trouble, input: machine.inputKept(state.input), outcome: 'FAILED', failure };
  }
}

export type Wait = Pick<AnyState, 'waits' | 'waitSeconds'>;

/** The next wait as a part of the state, or `undefined` when the deadline has passed. */
export function waitOf<T extends AnyState>(
  machine: Machine<T>,
  state: T,
  invocation: Invocation,
  retryAfterSeconds?: number,
): Wait | undefined {
  const clock = { now: invocation.now(), random: invocation.random };
  const waitSeconds = nextWait(state.waits, machine.pacing(state, invocation), clock, retryAfterSeconds);
  return waitSeconds === undefined ? undefined : { waits: state.waits + 1, waitSeconds };
}

/** Tells the log of an error that the run may outlive. */
export function warnOfWait({ name, status }: RunError, { waitSeconds }: Wait, { log }: Pick<Invocation, 'log'>): void {
  log.warn('waits', { error: name, status, waitSeconds });
}
