import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from 'aws-lambda';
import * as z from 'zod/mini';
import { readDeployment } from '../aws/env.ts';
import type { Deployment } from '../config/deployment.ts';
import { RunError } from '../errors.ts';
import { createLog, type FunctionLog } from '../log/log.ts';
import type { RunFields } from '../log/log-fields.ts';
import type { Measures } from '../log/metrics.ts';
import type { MachineState } from './machine-state.ts';
import { ALL_STEPS, type Answered, type AnyStepName, type FunctionName, OLDEST_MACHINE } from './steps.ts';

/** A step gets clock, environment, SDK and fetch from its arguments. It throws `RunError`; any other error is a bug. */
export type Step<T, D, A> = (state: T, deps: D) => Promise<A>;

/**
 * Makes the clients once per container, and returns a function that adds them to each invocation. A `RunError` in
 * either becomes an outcome, and the next invocation tries again.
 */
export type Connect<D> = () => (invocation: Invocation) => D;

/** Makes Lambda handlers of the steps of a machine. A `RunError` becomes an outcome; a bug is logged and rethrown. */
export function handlersOf<T extends MachineState, N extends AnyStepName>(machine: Machine<T>) {
  return <S extends N, D extends Invocation>(
    name: S,
    step: Step<T, D, AnswerOf<T, S> & Partial<T>>,
    connect: Connect<D>,
    platform: Platform = lambdaPlatform(name),
  ) => {
    const clients = once(connect);
    return async (event: unknown, context: Context): Promise<T> => {
      const begun = earlierSchema.safeParse(event).data;
      const parsed = z.safeParse(machine.schema, begun ?? event);
      const log = platform.log.about(parsed.success ? machine.about(parsed.data) : {});
      const began = platform.now();
      try {
        await emptyTemporaryFolder();
        if (!parsed.success) throw parsed.error;
        const state = { ...parsed.data, waitSeconds: 0, failure: null };
        const invocation = invocationOf({ ...platform, log }, context);
        const answer = await nextState(machine, name, state, invocation, async () => {
          if (!begun) return step(state, clients()(invocation));
          throw new RunError('EarlierRelease', 'The execution was started by an earlier release.');
        });
        report(machine, state, answer, invocation, began);
        return answer;
      } catch (error) {
        throw crash(name, error, context.awsRequestId, log);
      }
    };
  };
}

/** Logs one line and, if the run ends, its metrics. */
function report<T extends MachineState>(
  machine: Machine<T>,
  before: T,
  answer: T,
  invocation: Invocation,
  began: Date,
) {
  const now = invocation.now();
  // The answer may contain more ids than the state. After a failure, only the input names the run.
  const log = invocation.log.about(machine.about({ ...answer, input: before.input }));
  log[answer.outcome === 'FAILED' ? 'error' : 'info']('answered', {
    outcome: answer.outcome ?? '',
    error: answer.failure?.error,
    waitSeconds: answer.waitSeconds,
    milliseconds: now.getTime() - began.getTime(),
    crmRequests: invocation.requests.crm,
    fileRequests: invocation.requests.file,
    storeRequests: invocation.requests.store,
  });
  const end = machine.endOf({ ...answer, input: before.input }, now);
  if (end) log.measure(end.measures, end.outcome);
}

/**
 * The state of an execution that began under an earlier release: the keys that every release has put into it. The first
 * releases set no version.
 */
const earlierSchema = z.object({
  machineVersion: z._default(z.int().check(z.maximum(OLDEST_MACHINE - 1)), 1),
  input: z.unknown(),
  execution: z.string(),
  startedAt: z.iso.datetime(),
  /** Only a child of a batch has a chunk. Its machine returns the chunk's number, however the chunk ended. */
  chunk: z.optional(z.unknown()),
});

/** An outcome of a step and the parts of the state that it changes; `T` is the state of its machine. */
export type AnswerOf<T extends MachineState, S extends AnyStepName> = { outcome: Answered<S> } & Partial<
  Omit<Exact<T>, 'outcome' | 'failure'>
>;

/** A type without unknown keys, so that a misspelt key does not compile. */
type Exact<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** The metrics of the end of a run. */
export interface RunEnd {
  outcome: string;
  measures: Measures;
}

export type Ended = Pick<MachineState, 'outcome' | 'failure'>;

export interface Machine<T extends MachineState> {
  schema: z.core.$ZodType<T>;
  pacing: (state: T, invocation: Invocation) => Pacing;
  /** Names the run in every log line. */
  about: (state: T) => RunFields;
  /** The part of the input that a failed run keeps in its state: a huge input would exceed the limit of a state. */
  inputKept: (input: unknown) => unknown;
  /** The `trouble` of the state after this invocation, with or without a transient error. */
  troubleAfter: (error: RunError | undefined, state: T, invocation: Invocation) => Partial<T>;
  /** The metrics if the run ends with this answer. */
  endOf: (answer: T, now: Date) => RunEnd | undefined;
}

/**
 * The next state. A `final` error becomes FAILED with its name and a sentence. A `transient` error becomes the waiting
 * outcome of the step until the deadline, then FAILED.
 * @throws any error that is not a RunError: a bug
 */
async function nextState<T extends MachineState>(
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

export type Wait = Pick<MachineState, 'waits' | 'waitSeconds'>;

/** The next wait as a part of the state, or `undefined` when the deadline has passed. */
export function waitOf<T extends MachineState>(
  machine: Machine<T>,
  state: T,
  invocation: Invocation,
  retryAfterSeconds?: number,
): Wait | undefined {
  const clock = { now: invocation.now(), random: invocation.random };
  const waitSeconds = nextWait(state.waits, machine.pacing(state, invocation), clock, retryAfterSeconds);
  return waitSeconds === undefined ? undefined : { waits: state.waits + 1, waitSeconds };
}

/** Logs an error that the run waits out. */
export function warnOfWait({ name, status }: RunError, { waitSeconds }: Wait, { log }: Pick<Invocation, 'log'>): void {
  log.warn('waits', { error: name, status, waitSeconds });
}

export function failedEnd({ outcome, failure }: Ended): RunEnd | undefined {
  return outcome === 'FAILED' && failure ? { outcome: failure.error, measures: { RunsEnded: 1 } } : undefined;
}

const GROWTH = 1.5;
/** Each wait varies by 25 %, so that the runs of the seven entities do not poll at the same time. */
const JITTER = 0.25;

export interface Pacing {
  firstWaitSeconds: number;
  largestWaitSeconds: number;
  deadline: Date;
}

/**
 * The next wait in whole seconds; `undefined` when the deadline has passed. Each wait is half as long again, up to the
 * largest, and never shorter than `retryAfterSeconds`. The last wait ends at the deadline, so that a run fails only
 * after a last check.
 */
export function nextWait(
  waits: number,
  pacing: Pacing,
  clock: { now: Date; random: () => number },
  retryAfterSeconds = 0,
): number | undefined {
  const left = Math.ceil((pacing.deadline.getTime() - clock.now.getTime()) / 1000);
  if (left <= 0) return undefined;
  const { firstWaitSeconds: first, largestWaitSeconds: largest } = pacing;
  const place = Math.min(first * GROWTH ** waits, largest);
  const drawn = place * (1 - JITTER + 2 * JITTER * clock.random());
  const grown = Math.round(Math.min(Math.max(drawn, first), largest));
  return Math.min(Math.max(grown, Math.ceil(retryAfterSeconds)), left);
}

/** The environment of a function; tests replace it. */
export interface Platform {
  /** The log. In an invocation, all its lines name the run. */
  log: FunctionLog;
  now: () => Date;
  /** A number in [0, 1). */
  random: () => number;
  deployment: () => Deployment;
}

/** One invocation of a function, passed to the step beside its clients. */
export interface Invocation extends Omit<Platform, 'deployment'> {
  deployment: Deployment;
  /** Seconds until Lambda kills the invocation. */
  secondsLeft: () => number;
  /** CPU time of this process so far. */
  cpuMilliseconds: () => number;
  /** Requests so far: to the CRM, for the file, to the bucket. */
  requests: { crm: number; file: number; store: number };
  /** The id of the Lambda request; a retry has another id. */
  requestId: string;
}

export function lambdaPlatform(step: FunctionName): Platform {
  return {
    log: createLog(step),
    now: () => new Date(),
    random: Math.random,
    // The file is in the same folder as the bundled code.
    deployment: once(() => readDeployment(new URL('deployment.json', import.meta.url))),
  };
}

function invocationOf(platform: Platform, context: Context): Invocation {
  return {
    ...platform,
    deployment: platform.deployment(),
    secondsLeft: () => context.getRemainingTimeInMillis() / 1000,
    cpuMilliseconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    requests: { crm: 0, file: 0, store: 0 },
    requestId: context.awsRequestId,
  };
}

/** Names of the temporary folders of functions. */
const OWN = /^(?:feed|table|unpacked)-/;

/**
 * Removes files that killed invocations left on the function's disk. On AWS an invocation is alone in its container.
 * Functions of a local cloud share the folder, so this function does nothing there.
 */
async function emptyTemporaryFolder(): Promise<void> {
  const { AWS_LAMBDA_FUNCTION_NAME: name, AWS_ENDPOINT_URL: local } = process.env;
  if (name === undefined || local !== undefined) return;
  for (const folder of (await readdir(tmpdir())).filter((entry) => OWN.test(entry))) {
    await rm(join(tmpdir(), folder), { recursive: true, force: true });
  }
}

/** Makes a value at its first use. If `make` throws, the next use tries again. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Logs the name and stack frames of a bug. The error to throw omits its message, which may quote data. */
export function crash(step: FunctionName, error: unknown, requestId: string, log: FunctionLog): Error {
  const name = error instanceof Error ? error.name : typeof error;
  log.error('crashed', { crash: name, frames: originalFrames(framesOf(error)), requestId });
  const thrown = new Error(
    `${step} stopped with ${name} in request ${requestId}; the log of the function shows where.`,
  );
  thrown.name = name;
  // Lambda includes the stack, and loses the name of an error without one.
  thrown.stack = `${name}: ${thrown.message}`;
  return thrown;
}

/** The stack also contains the message, whose lines may look like frames. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const places = (error.stack ?? '').replace(error.message, () => '').split('\n');
  return places.filter((line) => /^\s+at /.test(line)).map((line) => line.trim());
}

/**
 * Stack frames with source positions, from the source map beside the bundle of this module. Node's
 * `--enable-source-maps` would read the map at every start, which then takes half as long again.
 */
function originalFrames(frames: string[]): string[] {
  const bundle = import.meta.url;
  const map = sourceMapOf(bundle);
  if (!map) return frames;
  return frames.map((frame) => {
    const place = /:(\d+):(\d+)\)?$/.exec(frame);
    if (!place || !frame.includes(bundle)) return frame;
    const line = Number(place[1]);
    const column = Number(place[2]);
    const origin = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in origin)) return frame;
    const { originalSource, originalLine, originalColumn } = origin;
    const source = originalSource.replace(/^(\.\.\/)+/, '');
    return frame.replace(`${bundle}:${line}:${column}`, `${source}:${originalLine + 1}:${originalColumn + 1}`);
  });
}

function sourceMapOf(bundle: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${bundle}.map`), 'utf8')));
  } catch {
    // The code is not bundled, or has no source map.
    return undefined;
  }
}
