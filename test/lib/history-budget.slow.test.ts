import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../core/config/deployment.ts';
import { LARGEST_DEADLINE_IN_WAITS } from '../../core/config/entity-settings.ts';
import { RunError } from '../../core/errors.ts';
import { LATE } from '../../core/step/export-run.ts';
import { nextWait } from '../../core/step/step.ts';
import type { StepName } from '../../core/step/steps.ts';
import { MOST_ROUNDS } from '../../lambdas/apply-chunk/apply-chunk.ts';
import { MOST } from '../../lambdas/download-file/download-file.ts';
import { exampleDeployment, feedDeployment, updatingDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { definitionOf } from '../../scripts/template.ts';
import { EXPORT_ID } from '../support/builders.ts';
import { exportRun, stateOf, statesOfType, successors } from './support/definition.ts';
import { delaysOf, EVENTS, eventsOf, execute, type Invoke, MOST_EVENTS } from './support/interpreter.ts';
import { PlatformError, realSteps, type World } from './support/steps.ts';
import { oneOf } from './support/template.ts';

/**
 * AWS ends a standard execution at 25,000 history entries. `support/interpreter.ts` lists the entries of each state.
 * The tests use the worst jitter: every wait has its minimum length.
 */
const FAR_BELOW = 15_000;

type Polling = Omit<Deployment['polling'], 'createAgainSeconds'>;

const definition = exportRun();

function deploymentWith(polling: Polling): Deployment {
  return exampleDeployment({ polling, entities: {} });
}

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

/** A CRM whose file is never ready: of all runs, one at it writes the most entries for each wait. */
const PING_PONG: World = { crm: crm(), transfer: neverReady };

const bound = mostEvents(worst.waits);

test(`a run writes at most ${bound} history entries for any answers of its steps, unless the platform fails`, async () => {
  const run = await execute(definition, realSteps(PING_PONG, deploymentWith(worst.polling)), {
    input: { entity: 'leads' },
  });

  expect(bound).toBeLessThan(FAR_BELOW);
  expect(run.events, 'the bound is close to the maximum').toBeGreaterThan(bound - 20);
});

describe('a file so slow that every invocation runs out of time', () => {
  const slow: World = { crm: crm(), transfer: async () => null };

  test('ends in DownloadUnfinished after 40 invocations, far below the limit', async () => {
    const run = await execute(definition, realSteps(slow, deploymentWith(worst.polling)), {
      input: { entity: 'leads' },
    });

    expect(run.error).toBe('DownloadUnfinished');
    expect(run.trail.filter((id) => id === 'DownloadFile')).toHaveLength(MOST.invocations);
    expect(run.events).toBeLessThan(1000);
  });

  test('ends an hour before the machine times out, even if the download begins at the deadline', () => {
    const afterDeadline = (definition.TimeoutSeconds ?? 0) - exampleDeployment().polling.deadlineSeconds;

    expect(MOST.invocations * (timeoutOf('DownloadFile') + 1)).toBeLessThan(afterDeadline - 3600);
  });
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
    const steps = unreliable(realSteps(PING_PONG, deploymentWith(polling)));

    // A day has thousands of random delays, so the mean counts: half of the largest.
    const run = await execute(definition, steps, { input: { entity: 'leads' }, drawn: 0.5 });

    expect(run.status).toBe('FAILED');
    expect(run.error).not.toBe('StepCrashed');
    expect(run.events).toBeLessThan(MOST_EVENTS);
  });

  const most = stateOf(definition, 'CheckStatus').Retry?.[0]?.MaxAttempts ?? 0;
  test.each([1, Math.ceil(most / 2), most])(
    'with every task throttled %i times, a run stays below the limit',
    async (times) => {
      const steps = refusing(realSteps(PING_PONG, deploymentWith(polling)), () =>
        Array<string>(times).fill('Lambda.TooManyRequestsException'),
      );

      const run = await execute(definition, steps, { input: { entity: 'leads' } });

      expect(run.status).toBe('FAILED');
      expect(run.error).not.toBe('StepCrashed');
      expect(run.events).toBeLessThan(MOST_EVENTS);
    },
  );
});

/**
 * The step limits the rounds of a child. Time limits its retries: they are at least two minutes apart, and the machine
 * ends.
 */
describe('a child of customer updates', () => {
  const machine = definitionOf(synthesise(updatingDeployment()), 'CustomerUpdates');
  const child = machine.States.ApplyChunks?.ItemProcessor ?? machine;
  const retriers = stateOf(child, 'ApplyChunk').Retry ?? [];
  const seconds = machine.TimeoutSeconds ?? Number.NaN;
  const state = (id: string) => stateOf(child, id);

  test('stays below the limit until the machine times out, for any errors of the platform', () => {
    const loop = ['WaitBeforeApply', 'ApplyChunk', 'AfterApplyChunk'].reduce((sum, id) => sum + eventsOf(state(id)), 0);
    const end = ['AnswerUnfinished', 'ChunkUnfinished'].reduce((sum, id) => sum + eventsOf(state(id)), 0);
    const soonest = Math.min(...retriers.flatMap(delaysOf));

    for (const { JitterStrategy } of retriers) expect(JitterStrategy, 'no wait is shortened').toBe('NONE');
    const retries = Math.floor(seconds / soonest) * EVENTS.attempt;
    expect(EVENTS.execution + (MOST_ROUNDS + 1) * loop + end + retries).toBeLessThan(MOST_EVENTS);
  });

  test('with the most continuations, each throttled once, ends before the machine times out', async () => {
    let rounds = 0;
    const step: Invoke = async () => {
      rounds += 1;
      return { outcome: rounds < MOST_ROUNDS ? 'CONTINUE' : 'FINISHED', waitSeconds: 1, chunk: { chunk: 1 } };
    };

    const run = await execute(
      child,
      refusing(step, () => ['Lambda.TooManyRequestsException']),
    );

    expect(run).toMatchObject({ status: 'SUCCEEDED', output: { chunk: 1 } });
    expect(run.seconds).toBeLessThan(seconds);
    expect(run.events).toBeLessThan(MOST_EVENTS);
  });
});

/**
 * The maximum number of entries of a run with at most that many waits, over all branches of every step: the longest
 * path through the definition, computed backwards.
 */
function mostEvents(waits: number): number {
  const waitIds = statesOfType(definition, 'Wait');
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

/** A CRM that always gives the same answers. */
function crm(): World['crm'] {
  return (template) => {
    if (template.endsWith('/fields')) return [{ fieldName: 'id' }];
    if (template.endsWith('/exports')) return EXPORT_ID;
    if (template.endsWith('/download')) return { url: 'https://files.example.com/leads.csv' };
    return { id: EXPORT_ID, status: 'PROCESSED' };
  };
}

function eventsOfLoop(...ids: string[]): number {
  return ids.reduce((sum, id) => sum + eventsOf(stateOf(definition, id)), 0);
}

/** The time limit of one invocation of a step in seconds. */
function timeoutOf(step: StepName): number {
  return oneOf(synthesise(), 'AWS::Lambda::Function', `${step}Function`)[1].Properties.Timeout;
}

async function neverReady(): Promise<never> {
  throw new RunError('ExportNotReady', 'It answered 409.');
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
