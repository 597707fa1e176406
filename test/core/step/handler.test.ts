import { describe, expect, test } from 'vitest';
import { asBatchStep } from '../../../core/batch/batch-state.ts';
import { ERRORS, RunError } from '../../../core/errors.ts';
import { type Answer, asStep } from '../../../core/step/export-run.ts';
import type { RunState } from '../../../core/step/states.ts';
import type { Invocation } from '../../../core/step/step.ts';
import { OLDEST_MACHINE, STEPS, type StepName, type StepOutcome } from '../../../core/step/steps.ts';
import { CANARY, run, runState } from '../../support/builders.ts';
import { composed, lambdaContext, NOW, testDeps } from '../../support/deps.ts';

const NAMES = Object.keys(STEPS) as StepName[];

/** The handler of a step that throws, with a log that can be read. */
function throwing(name: StepName, error: unknown, overrides: Partial<Invocation> = {}) {
  const deps = testDeps(overrides);
  const step = async (): Promise<Answer<StepName>> => {
    throw error;
  };
  return { handler: asStep(name, step as never, ...composed(deps)), log: deps.log };
}

function answering(answer: Answer<'CheckStatus'>) {
  const deps = testDeps();
  return {
    handler: asStep('CheckStatus', async () => answer, ...composed(deps)),
    log: deps.log,
  };
}

test.each(NAMES)('%s returns FAILED with name, message and advice of a final error', async (name) => {
  const { handler } = throwing(name, new RunError('ExportFailed', 'Export 7 failed.'));

  const answer = await handler(runState({ input: { entity: 'leads', Comment: 'a'.repeat(1000) } }), lambdaContext());

  expect(answer).toMatchObject({
    outcome: 'FAILED',
    // This part identifies the night. A huge whole input would exceed the state limit.
    input: { entity: 'leads' },
    waitSeconds: 0,
    failure: { error: 'ExportFailed', cause: `Export 7 failed. ${ERRORS.ExportFailed.advice}` },
  });
});

test.each<[StepName, StepOutcome<StepName>]>([
  ['CreateExport', 'RETRY'],
  ['CheckStatus', 'PENDING'],
  ['DownloadFile', 'CONTINUE'],
  ['PublishFile', 'CONTINUE'],
])('%s returns %s for a transient error, and counts a wait', async (name, outcome) => {
  const { handler } = throwing(name, new RunError('CrmUnavailable', 'Down.'));

  const state = runState({ waits: 2 });
  const answer = await handler(state, lambdaContext());

  expect(answer).toMatchObject({ outcome, input: state.input, waits: 3, waitSeconds: 23, failure: null });
});

test('an outcome clears the wait, the failure and the trouble of the previous state', async () => {
  const before = runState({
    waitSeconds: 50,
    failure: { error: 'CrmUnavailable', cause: 'Down.' },
    outcome: 'PENDING',
    trouble: { error: 'CrmUnavailable', status: 503, count: 3, deadline: '2026-11-20T02:00:00.000Z' },
  });
  const { handler } = answering({ outcome: 'READY', checks: 4 });

  expect(await handler(before, lambdaContext())).toEqual({
    ...before,
    outcome: 'READY',
    checks: 4,
    waitSeconds: 0,
    failure: null,
    trouble: null,
  });
});

test('logs one line per outcome, with ids and counts', async () => {
  const { handler, log } = answering({ outcome: 'PENDING', waitSeconds: 9 });

  await handler(runState(), lambdaContext());

  expect(log.lines).toEqual([
    {
      level: 'info',
      message: 'answered',
      fields: {
        entity: 'leads',
        execution: 'night-1',
        exportId: run().exportId,
        outcome: 'PENDING',
        error: undefined,
        waitSeconds: 9,
        milliseconds: 0,
        crmRequests: 0,
        fileRequests: 0,
        storeRequests: 0,
      },
    },
  ]);
});

test.each([
  ['error', new RunError('ExportFailed', 'Export 7 failed.')],
  ['info', new RunError('CrmUnavailable', 'Down.')],
])('logs the line at level %s after %s', async (level, error) => {
  const { handler, log } = throwing('CheckStatus', error);

  await handler(runState(), lambdaContext());

  expect(log.lines.filter(({ message }) => message === 'answered')).toMatchObject([{ level }]);
});

const bugs: [string, unknown, string][] = [
  ['an error', new TypeError(`cannot read ${CANARY}`), 'TypeError'],
  ['an error that looks like frames', new SyntaxError(`bad\n    at ${CANARY} (x)\nnear ${CANARY}`), 'SyntaxError'],
  ['an error with a cause', new Error('outer', { cause: new Error(CANARY) }), 'Error'],
  ['a string', CANARY, 'string'],
];

test.each(bugs)('logs the frames of %s, and rethrows only its name, the step and the request', async (_, bug, name) => {
  const { handler, log } = throwing('PublishFile', bug);

  const thrown = await handler(runState(), lambdaContext()).catch((error: unknown) => error);

  const message = `PublishFile stopped with ${name} in request request-7; the log of the function shows where.`;
  // Lambda shows the stack, and loses the name of an error without one.
  expect(thrown).toMatchObject({ name, message, stack: `${name}: ${message}` });
  expect(everythingIn(thrown)).not.toContain(CANARY);
  expect(JSON.stringify(log.lines)).not.toContain(CANARY);
  expect(log.lines).toMatchObject([
    { level: 'error', message: 'crashed', fields: { crash: name, requestId: 'request-7' } },
  ]);
  const places = bug instanceof Error ? [expect.stringMatching(/^at .*handler\.test\.ts/)] : [];
  expect(log.lines[0]?.fields.frames?.slice(0, 1)).toEqual(places);
});

test('crashes on an event that is not a state, without quoting it', async () => {
  const { handler } = answering({ outcome: 'READY' });
  await handler(runState(), lambdaContext());

  const thrown = await handler({ input: {}, execution: { [CANARY]: CANARY } }, lambdaContext()).catch(
    (error: unknown) => error,
  );

  expect((thrown as Error).message).toMatch(/^CheckStatus stopped with \S*Error in request request-7/);
  expect(everythingIn(thrown)).not.toContain(CANARY);
});

test('returns FAILED if the clients cannot be created, and the next invocation creates them again', async () => {
  let makes = 0;
  const deps = testDeps();
  const [, platform] = composed(deps);
  const connect = () => {
    makes += 1;
    if (makes === 1) throw new RunError('ConfigInvalid', 'The environment lacks X.');
    return (invocation: Invocation) => invocation;
  };
  const handler = asStep('CheckStatus', async () => ({ outcome: 'READY' as const }), connect, platform);

  const answers = [await handler(runState(), lambdaContext()), await handler(runState(), lambdaContext())];

  expect(answers).toMatchObject([
    { outcome: 'FAILED', failure: { error: 'ConfigInvalid' } },
    { outcome: 'READY', failure: null },
  ]);
  expect(deps.log.lines.map(({ fields }) => fields.error)).toEqual(['ConfigInvalid', undefined]);
});

test('creates clients once per container; each invocation has its own time, counts and id', async () => {
  const seen: unknown[] = [];
  let makes = 0;
  const [, platform] = composed(testDeps());
  const step = async (_: RunState, { requests, secondsLeft, requestId }: Invocation) => {
    requests.crm += 1;
    seen.push([requests.crm, secondsLeft(), requestId]);
    return { outcome: 'READY' as const };
  };
  const connect = () => {
    makes += 1;
    return (invocation: Invocation) => invocation;
  };
  const handler = asStep('CheckStatus', step, connect, platform);

  await handler(runState(), lambdaContext({ getRemainingTimeInMillis: () => 30_500 }));
  await handler(runState(), lambdaContext({ getRemainingTimeInMillis: () => 2000, awsRequestId: 'request-8' }));

  expect(makes).toBe(1);
  expect(seen).toEqual([
    [1, 30.5, 'request-7'],
    [1, 2, 'request-8'],
  ]);
});

test('keeps the unknown fields of a state of a later release', async () => {
  const { handler } = answering({ outcome: 'READY' });
  const state = { ...runState({ run: run({ region: 'north' }) }), transfer: { part: 3 } };

  const answer = await handler(state, lambdaContext());

  expect(answer).toMatchObject({ transfer: { part: 3 }, run: { region: 'north' } });
});

test.each([undefined, 1, OLDEST_MACHINE - 1])(
  'fails a run of the earlier version %j, for any state',
  async (machineVersion) => {
    const deps = testDeps();
    const handler = asStep('CheckStatus', () => Promise.reject(new Error('was called')), ...composed(deps));
    const { input, execution, startedAt } = runState();

    const answer = await handler({ machineVersion, input, execution, startedAt, run: { other: 1 } }, lambdaContext());

    const sentence = 'The execution was started by an earlier release.';
    expect(answer).toMatchObject({
      ...{ outcome: 'FAILED', run: null, waitSeconds: 0 },
      failure: { error: 'EarlierRelease', cause: `${sentence} ${ERRORS.EarlierRelease.advice}` },
    });
    expect(deps.log.measured).toMatchObject([{ outcome: 'EarlierRelease', values: { RunsEnded: 1 } }]);
  },
);

test('a chunk of a batch of an earlier release keeps its number', async () => {
  const chunk = { chunk: 7, from: 0, to: 9, firstLine: 1, lastLine: 1, records: 1 };
  const step = () => Promise.reject(new Error('was called'));
  const handler = asBatchStep('ApplyChunk', step, ...composed(testDeps()));

  const answer = await handler({ input: {}, execution: 'b1', startedAt: NOW, batch: {}, chunk }, lambdaContext());

  expect(answer).toMatchObject({ outcome: 'FAILED', chunk, failure: { error: 'EarlierRelease' } });
});

/** Every text in an error, in any property that a runtime may print. */
function everythingIn(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error);
  return Object.getOwnPropertyNames(error)
    .map((key) => String(Reflect.get(error, key)))
    .join('\n');
}

describe('the trouble in a state', () => {
  const busy = new RunError('CrmUnavailable', CANARY, { status: 503 });
  const measured = (count: number) => ({
    error: 'CrmUnavailable',
    status: 503,
    count,
    deadline: '2026-11-20T02:00:00.000Z',
  });

  test('contains the error, status, consecutive count and deadline', async () => {
    const { handler } = throwing('CheckStatus', busy);

    const first = await handler(runState(), lambdaContext());
    const second = await handler(first, lambdaContext());

    expect([first.trouble, second.trouble]).toEqual([measured(1), measured(2)]);
    expect(JSON.stringify(second)).not.toContain(CANARY);
  });

  test('is cleared by another error, and counts the last try of the same error', async () => {
    const final = throwing('CheckStatus', new RunError('ExportFailed', CANARY));
    const late = throwing('CheckStatus', busy);

    const failed = await final.handler(runState({ trouble: measured(3) }), lambdaContext());
    const state = runState({ trouble: measured(3), run: run({ deadline: '2020-01-01T00:00:00.000Z' }) });
    const exceeded = await late.handler(state, lambdaContext());

    expect(failed).toMatchObject({ outcome: 'FAILED', trouble: null });
    expect(exceeded).toMatchObject({ outcome: 'FAILED', trouble: { error: 'CrmUnavailable', count: 4 } });
  });
});
