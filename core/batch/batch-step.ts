import type { Context } from 'aws-lambda';
import { type Connect, handlerOf, type Step } from '../step/handler.ts';
import { type Invocation, lambdaPlatform, type Platform } from '../step/invocation.ts';
import type { AnswerOf, Machine } from '../step/outcome.ts';
import { batchEnd } from '../step/run-end.ts';
import type { UpdateStepName } from '../step/steps.ts';
import { type BatchState, batchStateSchema } from './batch-state.ts';

/** The most waits in a row without any progress: 9 that grow to a minute, then 36 of it, 38 minutes in all. */
const MOST_WAITS = 45;
/** The time limit of the functions (`lib/workflow/customer-updates.ts`). */
export const LONGEST_INVOCATION_SECONDS = 900;
/** The longest Retry-After that is honoured. */
export const LONGEST_WAIT_SECONDS = 3600;

const CUSTOMER_UPDATES: Machine<BatchState> = {
  schema: batchStateSchema,
  // A batch may take a day: it fails after errors without progress, not at a time.
  pacing: (state, { now }) => ({
    firstWaitSeconds: 2,
    largestWaitSeconds: 60,
    deadline: new Date(now().getTime() + (isLastWait(state) ? 0 : LONGEST_WAIT_SECONDS * 1000)),
  }),
  about: ({ batch, chunk, execution }) => ({ execution, batch: batch?.batch, chunk: chunk?.chunk }),
  inputKept: () => null,
  // No command shows the wait of a batch: `update-status` counts lines.
  troubleAfter: () => ({}),
  endOf: batchEnd,
};

/** Whether an error in this invocation would be final. */
export function isLastWait({ waits }: Pick<BatchState, 'waits'>): boolean {
  return waits >= MOST_WAITS;
}

/** `asStep` for the machine CustomerUpdates. */
export function asBatchStep<S extends UpdateStepName, D extends Invocation>(
  name: S,
  step: Step<BatchState, D, BatchAnswer<S>>,
  connect: Connect<D>,
  platform: Platform = lambdaPlatform(name),
): (event: unknown, context: Context) => Promise<BatchState> {
  return handlerOf(CUSTOMER_UPDATES, name, step, connect, platform);
}

/** What a step returns: an outcome of its own and the parts of the state that it changes. */
export type BatchAnswer<S extends UpdateStepName> = AnswerOf<BatchState, S>;
