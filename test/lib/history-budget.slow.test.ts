import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../core/config/deployment.ts';
import { LARGEST_DEADLINE_IN_WAITS } from '../../core/config/entity-settings.ts';
import { LATE } from '../../core/step/export-run.ts';
import { nextWait } from '../../core/step/step.ts';
import type { StepName } from '../../core/step/steps.ts';
import { MOST_ROUNDS } from '../../lambdas/apply-chunk/apply-chunk.ts';
import { MOST } from '../../lambdas/download-file/download-file.ts';
import { exampleDeployment, feedDeployment, updatingDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { definitionOf } from '../../scripts/template.ts';
import { exportRun, stateOf, successors } from './support/definition.ts';
import { delaysOf, EVENTS, eventsOf, execute, type Invoke, MOST_EVENTS, PlatformError } from './support/interpreter.ts';
import { oneOf } from './support/template.ts';

/**
 * AWS ends a standard execution at 25,000 history entries. `support/interpreter.ts` lists the entries of each state.
 * The tests use the worst jitter: every wait has its minimum length.
 */
const FAR_BELOW = 15_000;

type Polling = Omit<Deployment['polling'], 'createAgainSeconds'>;

const definition = exportRun();

/**
 * The number of waits between start and deadline if all are as short as possible: the one after CREATED, and the later
 * ones from `nextWait`.
 */
function mostWaits({ firstWaitSeconds, largestWaitSeconds, deadlineSeconds }: Polling): number {
  const pacing = { firstWaitSeconds, largestWaitSeconds, deadline: new Date(deadlineSeconds * 1000) };
  let seconds = firstWaitSeconds;
  for (let waits = 0; ; waits += 1) {
    const clock = { now: new Date(seconds * 1000), random: () => 0 };
    const wait = nextWait(waits, pacing, clock);
    if (wait === undefined) return 1 + waits;
    seconds += wait;
  }
}

/** The largest allowed deadline for a largest wait. A longer first wait makes all waits longer. */
function largestAllowed(largestWaitSeconds: number): Polling {
  const deadlineSeconds = Math.min(86_400, LARGEST_DEADLINE_IN_WAITS * largestWaitSeconds);
  return { firstWaitSeconds: 1, largestWaitSeconds, deadlineSeconds };
}

const allowed = Array.from({ length: 3600 }, (_, index) => largestAllowed(index + 1));
const [worst] = allowed
  .map((polling) => ({ polling, waits: mostWaits(polling) }))
  .toSorted((one, other) => other.waits - one.waits);
if (!worst) throw new Error('no configuration is allowed');

const bound = mostEvents(worst.waits);

test(`a run writes at most ${bound} history entries for any answers of its steps, unless the platform fails`, () => {
  expect(bound).toBeLessThan(FAR_BELOW);
});

test('a file so slow that every invocation runs out of time ends an hour before the machine times out', () => {
  const afterDeadline = (definition.TimeoutSeconds ?? 0) - exampleDeployment().polling.deadlineSeconds;

  expect(MOST.invocations * (timeoutOf('DownloadFile') + 1)).toBeLessThan(afterDeadline - 3600);
});

const withFeeds = definitionOf(synthesise(feedDeployment()));

test.each([
  ['DownloadFile', 'WaitBeforeDownload', MOST.invocations],
  ['PublishFile', 'WaitBeforePublish', LATE.tries],
  ['WriteTable', 'WaitBeforeTable', LATE.tries],
  ['WriteChanges', 'WaitBeforeChanges', LATE.tries],
])('all repeats of %s after the deadline stay far below the limit', (step, wait, times) => {
  const added = [wait, step, `After${step}`].reduce((sum, id) => sum + eventsOf(stateOf(withFeeds, id)), 0);

  expect(added, 'one limit covers the waits of all states').toBeLessThanOrEqual(
    eventsOfLoop('WaitBeforeCheck', 'CheckStatus', 'AfterCheckStatus'),
  );
  expect(bound + times * added).toBeLessThan(FAR_BELOW);
});

describe('for a day', () => {
  const polling = largestAllowed(Math.ceil(86_400 / LARGEST_DEADLINE_IN_WAITS));

  test('with all platform retries used in every task, a run stays below the limit', async () => {
    // A day has thousands of random delays, so the mean counts: half of the largest.
    const run = await execute(definition, unreliable(neverReady(polling)), { drawn: 0.5 });

    expect(run).toMatchObject({ status: 'FAILED', error: 'ExportNotReady' });
    expect(run.events).toBeLessThan(MOST_EVENTS);
  });

  const most = stateOf(definition, 'CheckStatus').Retry?.[0]?.MaxAttempts ?? 0;
  test.each([1, Math.ceil(most / 2), most])(
    'a run with every task throttled %i times stays below the limit',
    async (times) => {
      const throttled = Array<string>(times).fill('Lambda.TooManyRequestsException');

      const run = await execute(
        definition,
        refusing(neverReady(polling), () => throttled),
      );

      expect(run).toMatchObject({ status: 'FAILED', error: 'ExportNotReady' });
      expect(run.events).toBeLessThan(MOST_EVENTS);
    },
  );
});

/**
 * The step limits the rounds of a child. Time limits its retries: they are at least two minutes apart, and the machine
 * ends.
 */
test('a child of customer updates stays below the limit, and ends before the machine times out', () => {
  const machine = definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
  const child = machine.States.ApplyChunks?.ItemProcessor ?? machine;
  const retriers = stateOf(child, 'ApplyChunk').Retry ?? [];
  const seconds = machine.TimeoutSeconds ?? Number.NaN;
  const eventsIn = (...ids: string[]) => ids.reduce((sum, id) => sum + eventsOf(stateOf(child, id)), 0);
  const soonest = Math.min(...retriers.flatMap(delaysOf));

  for (const { JitterStrategy } of retriers) expect(JitterStrategy, 'no wait is shortened').toBe('NONE');
  const rounds = (MOST_ROUNDS + 1) * eventsIn('WaitBeforeApply', 'ApplyChunk', 'AfterApplyChunk');
  const retries = Math.floor(seconds / soonest) * EVENTS.attempt;
  const all = EVENTS.execution + rounds + retries + eventsIn('AnswerUnfinished', 'ChunkUnfinished');
  expect(all).toBeLessThan(MOST_EVENTS);
  expect(MOST_ROUNDS * (1 + soonest), 'each round is throttled once').toBeLessThan(seconds);
});

/**
 * The maximum number of entries of a run with at most that many waits, over all branches of every step: the longest
 * path through the definition, computed backwards.
 */
function mostEvents(waits: number): number {
  const waitIds = Object.keys(definition.States).filter((id) => stateOf(definition, id).Type === 'Wait');
  let tails = new Map<string, number>(waitIds.map((id) => [id, Number.NEGATIVE_INFINITY]));
  for (let left = 1; left <= waits; left += 1) {
    const shorter = tails;
    tails = new Map(waitIds.map((id) => [id, eventsOf(stateOf(definition, id)) + longestFrom(id, shorter)]));
  }
  return 2 + eventsOf(stateOf(definition, definition.StartAt)) + longestFrom(definition.StartAt, tails);
}

/** The maximum number of entries after a state, up to an end or through the next wait. */
function longestFrom(id: string, tails: Map<string, number>): number {
  const next = successors(stateOf(definition, id));
  if (next.length === 0) return 0;
  return Math.max(...next.map((to) => tails.get(to) ?? eventsOf(stateOf(definition, to)) + longestFrom(to, tails)));
}

function eventsOfLoop(...ids: string[]): number {
  return ids.reduce((sum, id) => sum + eventsOf(stateOf(definition, id)), 0);
}

/** The time limit of one invocation of a step in seconds. */
function timeoutOf(step: StepName): number {
  return oneOf(synthesise(), 'AWS::Lambda::Function', `${step}Function`)[1].Properties.Timeout;
}

/** A CRM whose file is never ready: of all runs, one at it writes the most entries for each wait. */
function neverReady(polling: Polling): Invoke {
  let waits = 0;
  let deadline: Date | undefined;
  return async (step, _, { now }) => {
    deadline ??= new Date(now().getTime() + polling.deadlineSeconds * 1000);
    if (step === 'CreateExport') return { outcome: 'CREATED', waitSeconds: polling.firstWaitSeconds };
    if (step === 'CheckStatus') return { outcome: 'READY' };
    if (step !== 'DownloadFile') return null;
    const waitSeconds = nextWait(waits, { ...polling, deadline }, { now: now(), random: () => 0 });
    waits += 1;
    const failure = { error: 'ExportNotReady', cause: 'It answered 409.' };
    return waitSeconds === undefined ? { outcome: 'FAILED', failure } : { outcome: 'NOT_READY', waitSeconds };
  };
}

/** A platform that fails every call until its last retry. */
function unreliable(steps: Invoke): Invoke {
  return refusing(steps, (step) =>
    (stateOf(definition, step).Retry ?? []).flatMap(({ ErrorEquals, MaxAttempts }) =>
      Array<string>(MaxAttempts).fill(ErrorEquals[0] ?? ''),
    ),
  );
}

/** A platform that fails every call with these errors before it succeeds. */
function refusing(steps: Invoke, errorsOf: (step: string) => string[]): Invoke {
  let failures: string[] | undefined;
  return (step, payload, clock) => {
    failures ??= errorsOf(step);
    const name = failures.shift();
    if (name) throw new PlatformError(name);
    failures = undefined;
    return steps(step, payload, clock);
  };
}
