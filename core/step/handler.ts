import type { Context } from 'aws-lambda';
import * as z from 'zod/mini';
import { emptyTemporaryFolder } from '../content/free-disk.ts';
import { RunError } from '../errors.ts';
import { crash } from './crash.ts';
import { begin, type Invocation, lambdaPlatform, once, type Platform } from './invocation.ts';
import { type AnyState, type Machine, nextState } from './outcome.ts';
import { type AnyStepName, OLDEST_MACHINE } from './steps.ts';

/** A step has no clock, environment, SDK or fetch of its own. It throws `RunError`; anything else is a bug. */
export type Step<T, D, A> = (state: T, deps: D) => Promise<A>;

/**
 * Makes the clients, once per container; what it returns adds them to each invocation. A `RunError` of either is an
 * outcome as well, and the next invocation tries again.
 */
export type Connect<D> = () => (invocation: Invocation) => D;

/** The Lambda handler of a step of a machine. Errors become outcomes (`outcome.ts`); a bug is logged and thrown on (`crash.ts`). */
export function handlerOf<T extends AnyState, D extends Invocation>(
  machine: Machine<T>,
  name: AnyStepName,
  step: Step<T, D, Partial<T>>,
  connect: Connect<D>,
  platform: Platform = lambdaPlatform(name),
): (event: unknown, context: Context) => Promise<T> {
  const clients = once(connect);
  return async (event, context) => {
    const begun = begunEarlier(event);
    const parsed = z.safeParse(machine.schema, begun ?? event);
    const log = platform.log.about(parsed.success ? machine.about(parsed.data) : {});
    const began = platform.now();
    try {
      await emptyTemporaryFolder();
      if (!parsed.success) throw parsed.error;
      const state = { ...parsed.data, waitSeconds: 0, failure: null };
      const invocation = begin({ ...platform, log }, context);
      const answer = await nextState(machine, name, state, invocation, () =>
        begun ? refuseEarlier() : step(state, clients()(invocation)),
      );
      report(machine, state, answer, invocation, began);
      return answer;
    } catch (error) {
      throw crash(name, error, context.awsRequestId, log);
    }
  };
}

/** One line and, where the run ends, its metrics. */
function report<T extends AnyState>(machine: Machine<T>, before: T, answer: T, invocation: Invocation, began: Date) {
  const now = invocation.now();
  // The answer may name the run better; after a failure only the input names it.
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

/** This much every release has put into the state of an execution. The first ones gave it no number. */
const earlierSchema = z.object({
  machineVersion: z._default(z.int().check(z.maximum(OLDEST_MACHINE - 1)), 1),
  input: z.unknown(),
  execution: z.string(),
  startedAt: z.iso.datetime(),
  /** Only a child of a batch has a chunk. Its machine answers its number, whatever became of it. */
  chunk: z.optional(z.unknown()),
});

/** Gives the state with which an execution began, where that was under an earlier release; else `undefined`. */
function begunEarlier(event: unknown): object | undefined {
  return earlierSchema.safeParse(event).data;
}

/** @throws RunError `EarlierRelease` */
function refuseEarlier(): never {
  throw new RunError('EarlierRelease', 'The execution began under an earlier release.');
}
