import type { Context } from 'aws-lambda';
import * as z from 'zod/mini';
import type { Deployment } from '../config/deployment.ts';
import { RunError } from '../errors.ts';
import { createLog, type FunctionLog } from '../log/log.ts';
import type { RunFields } from '../log/log-fields.ts';
import { askedEntity, nextWait, type Pacing, pacingOf, type Random } from './pacing.ts';
import { exportRunEnd, type RunEnd } from './run-end.ts';
import { type RunState, runStateSchema } from './states.ts';
import { ALL_STEPS, type Answered, type AnyStepName, type StepName } from './steps.ts';

/** What every step is given besides its own clients. */
export interface StepDeps {
  deployment: Deployment;
  log: FunctionLog;
  now: () => Date;
  random: Random;
  /** Seconds until the platform kills this invocation. */
  secondsLeft: () => number;
  requests: Invocation['requests'];
  requestId: Invocation['requestId'];
}

/** What a step returns: an outcome of its own and the parts of the state that it changes. */
export type Answer<S extends StepName> = AnswerOf<RunState, S>;

/** The same in any machine: `T` is what passes between its states. */
export type AnswerOf<T extends AnyState, S extends AnyStepName> = { outcome: Answered<S> } & Partial<
  Omit<Known<T>, 'outcome' | 'failure'>
>;

/** The state without its leave for unknown keys, so that a misspelt one in an answer does not compile. */
type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** What stands at the same place in the state of every machine. */
export type AnyState = Pick<RunState, 'input' | 'execution' | 'waits' | 'outcome' | 'waitSeconds' | 'failure'>;

/** What the wrapper has to know of a machine. */
export interface Machine<T extends AnyState> {
  schema: z.core.$ZodType<T>;
  pacing: (state: T, deps: StepDeps) => Pacing;
  /** What every line of an invocation says of its run. */
  about: (state: T) => RunFields;
  /** What is counted where the run ends with this answer. */
  endOf: (answer: T, now: Date) => RunEnd | undefined;
}

const EXPORT_RUN: Machine<RunState> = {
  schema: runStateSchema,
  pacing: (state, deps) => pacingOf(state, deps.deployment),
  about: ({ run, input, execution }) => ({
    entity: run?.entity ?? askedEntity(input),
    execution,
    exportId: run?.exportId,
  }),
  endOf: exportRunEnd,
};

/** A step: pure, no clock, environment, SDK or fetch of its own. Throws `RunError`; anything else it throws is a bug. */
export type Step<S extends StepName, D> = (state: RunState, deps: D) => Promise<Answer<S>>;

export type OwnDeps<D extends StepDeps> = Omit<D, keyof Invocation>;

/** The invocation that is under way; clients are built once per container and live through many. */
export interface Invocation {
  /** Seconds until the platform kills it. */
  secondsLeft: () => number;
  /** Requests to the service, for the file and to the bucket so far: what the invocation costs beside its time. */
  requests: { crm: number; file: number; store: number };
  /** Of this invocation alone: the repetition of a call has another. */
  requestId: string;
}

/**
 * Makes a Lambda handler of a step of the machine ExportRun.
 *
 * @param dependencies builds the clients, once per container; a `RunError` that it throws (a bad environment) is an
 *   outcome as well, and is tried anew by the next invocation.
 */
export function asStep<S extends StepName, D extends StepDeps>(
  name: S,
  step: Step<S, D>,
  dependencies: (invocation: Invocation) => OwnDeps<D>,
): (event: unknown, context: Context) => Promise<RunState> {
  return handlerOf(EXPORT_RUN, name, step, dependencies);
}

/**
 * The one place where what is thrown becomes an outcome: a `final` error becomes FAILED with its name and a sentence, a
 * `transient` one the step's waiting outcome with a wait, until the deadline turns it into FAILED under its own name. A bug
 * is logged by name and frames, and thrown on as a crash without its message, which may quote data.
 */
export function handlerOf<T extends AnyState, D extends StepDeps>(
  machine: Machine<T>,
  name: AnyStepName,
  step: (state: T, deps: D) => Promise<Partial<T>>,
  dependencies: (invocation: Invocation) => OwnDeps<D>,
): (event: unknown, context: Context) => Promise<T> {
  let built: OwnDeps<D> | undefined;
  const invocation: Invocation = { secondsLeft: () => 0, requests: { crm: 0, file: 0, store: 0 }, requestId: '' };
  /** That of the step, or one without it where its dependencies could not be built. */
  const logAbout = (run: RunFields): FunctionLog => {
    const log = built?.log ?? createLog(name);
    log.about(run);
    return log;
  };
  const answerTo = async (state: T): Promise<T> => {
    try {
      built ??= dependencies(invocation);
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      const answer = failed(state, error);
      measureEnd(machine, answer, logAbout(machine.about(state)), new Date());
      return answer;
    }
    const log = logAbout(machine.about(state));
    const deps = { ...built, ...invocation } as D;
    const began = deps.now().getTime();
    const answer = await outcomeOf(machine, name, () => step(state, deps), state, deps);
    // A step may have learnt more of its run; what has failed lacks the input, and may be known by nothing else.
    log.about(machine.about({ ...answer, input: state.input }));
    logAnswer(answer, deps, began);
    measureEnd(machine, answer, log, deps.now());
    return answer;
  };
  return async (event, context) => {
    let run: RunFields = {};
    try {
      const state = stateIn(machine, event);
      run = machine.about(state);
      invocation.secondsLeft = () => context.getRemainingTimeInMillis() / 1000;
      invocation.requestId = context.awsRequestId;
      Object.assign(invocation.requests, { crm: 0, file: 0, store: 0 });
      return await answerTo(state);
    } catch (error) {
      throw crash(name, error, context.awsRequestId, logAbout(run));
    } finally {
      // What is said between two invocations belongs to neither.
      built?.log.about({});
    }
  };
}

function stateIn<T extends AnyState>(machine: Machine<T>, event: unknown): T {
  const parsed = z.safeParse(machine.schema, event);
  if (!parsed.success) throw parsed.error;
  return { ...parsed.data, waitSeconds: 0, failure: null };
}

function logAnswer(answer: AnyState, deps: StepDeps, began: number): void {
  deps.log.info('answered', {
    outcome: answer.outcome ?? '',
    error: answer.failure?.error as RunError['name'] | undefined,
    waitSeconds: answer.waitSeconds,
    milliseconds: deps.now().getTime() - began,
    crmRequests: deps.requests.crm,
    fileRequests: deps.requests.file,
    storeRequests: deps.requests.store,
  });
}

function measureEnd<T extends AnyState>(machine: Machine<T>, answer: T, log: FunctionLog, now: Date): void {
  const end = machine.endOf(answer, now);
  if (end) log.measure(end.measures, end.outcome);
}

async function outcomeOf<T extends AnyState>(
  machine: Machine<T>,
  name: AnyStepName,
  step: () => Promise<Partial<T>>,
  state: T,
  deps: StepDeps,
): Promise<T> {
  try {
    return { ...state, ...(await step()) };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    const wait = error.transient ? waitOf(machine, state, deps, error.retryAfterSeconds) : undefined;
    if (!wait) return failed(state, error);
    return { ...state, ...wait, outcome: ALL_STEPS[name].waiting };
  }
}

/** Without the input, which nobody reads any more: a huge one would break the limit of a state, and hide the error. */
function failed<T extends AnyState>(state: T, { failure }: RunError): T {
  return { ...state, input: null, outcome: 'FAILED', failure };
}

/** The next wait of a run as a part of its state, or `undefined` when its deadline has passed. */
export function waitFor(state: RunState, deps: StepDeps, retryAfterSeconds?: number): Wait | undefined {
  return waitOf(EXPORT_RUN, state, deps, retryAfterSeconds);
}

type Wait = Pick<AnyState, 'waits' | 'waitSeconds'>;

function waitOf<T extends AnyState>(machine: Machine<T>, state: T, deps: StepDeps, seconds?: number): Wait | undefined {
  const clock = { now: deps.now(), random: deps.random };
  const waitSeconds = nextWait(state.waits, machine.pacing(state, deps), clock, seconds);
  return waitSeconds === undefined ? undefined : { waits: state.waits + 1, waitSeconds };
}

function crash(step: AnyStepName, error: unknown, requestId: string, log: FunctionLog): Error {
  const name = error instanceof Error ? error.name : typeof error;
  log.error('crashed', { crash: name, frames: framesOf(error), requestId });
  const thrown = new Error(
    `${step} stopped with ${name} in request ${requestId}; the log of the function has the place.`,
  );
  thrown.name = name;
  // The runtime of Lambda sends the stack along, and loses the name of an error that has none.
  thrown.stack = `${name}: ${thrown.message}`;
  return thrown;
}

/** Where it happened. The message stands in the stack as well, and lines of it may look like frames. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const places = (error.stack ?? '').replace(error.message, () => '').split('\n');
  return places.filter((line) => /^\s+at /.test(line)).map((line) => line.trim());
}
