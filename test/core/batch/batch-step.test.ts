import { describe, expect, test } from 'vitest';
import { asBatchStep, type BatchState, batchStateSchema } from '../../../core/batch/batch-state.ts';
import { chunksText } from '../../../core/batch/validate-updates.ts';
import { RunError } from '../../../core/errors.ts';
import { MACHINE_VERSION, type StepOutcome, UPDATE_STEPS, type UpdateStepName } from '../../../core/step/steps.ts';
import { applyChunk } from '../../../lambdas/apply-chunk/apply-chunk.ts';
import { summarizeBatch } from '../../../lambdas/summarize-batch/summarize-batch.ts';
import { validateBatch } from '../../../lambdas/validate-batch/validate-batch.ts';
import {
  batch,
  batchState,
  fakeExchange,
  inputOf,
  KEYS,
  type Reply,
  sleepingDeps,
  wholeChunk,
} from '../../support/batches.ts';
import { CANARY } from '../../support/builders.ts';
import { composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';

const INPUT = inputOf(2);
const DOWN = new RunError('StorageUnavailable', 'Down.');
const OBJECTS = { [KEYS.input]: INPUT, [KEYS.chunks]: chunksText([wholeChunk(INPUT)]) };

/** A bucket in which every operation fails once if `trouble` is given. */
function store(objects: Record<string, string>, trouble?: Error) {
  const before = () => {
    if (trouble) throw trouble;
  };
  return fakeBucket({ objects, before });
}

const validate = (input: unknown, trouble?: Error) =>
  asBatchStep(
    'ValidateBatch',
    validateBatch,
    ...composed({
      ...testDeps(),
      store: store({ [KEYS.input]: INPUT }, trouble),
      softwareVersion: '1',
    }),
  )(batchState({ input }), lambdaContext());

const begun = (more: Partial<BatchState> = {}) => batchState({ batch: batch(INPUT), ...more });

const apply = (reply: Reply, trouble?: Error) =>
  asBatchStep(
    'ApplyChunk',
    applyChunk,
    ...composed({ ...sleepingDeps(), crm: fakeExchange(() => reply).crm, store: store(OBJECTS, trouble) }),
  )(begun({ chunk: wholeChunk(INPUT) }), lambdaContext());

const summarize = async (reply: Reply, trouble?: Error) => {
  const results = store(OBJECTS);
  const deps = { ...sleepingDeps(), crm: fakeExchange(() => reply).crm, store: results };
  await applyChunk(begun({ chunk: wholeChunk(INPUT) }), deps);
  const troubled = trouble ? store({}, trouble) : results;
  const step = asBatchStep('SummarizeBatch', summarizeBatch, ...composed({ ...testDeps(), store: troubled }));
  return step(begun(), lambdaContext());
};

/** How to produce each outcome. A missing outcome does not compile. */
const PRODUCED: { [S in UpdateStepName]: Record<StepOutcome<S>, () => Promise<BatchState>> } = {
  ValidateBatch: {
    VALIDATED: () => validate({ file: KEYS.input }),
    CONTINUE: () => validate({ file: KEYS.input }, DOWN),
    FAILED: () => validate({}),
  },
  ApplyChunk: {
    FINISHED: () => apply(200),
    CONTINUE: () => apply(200, DOWN),
    FAILED: () => apply(200, new RunError('StorageDenied', 'No.')),
  },
  SummarizeBatch: {
    SUMMARIZED: () => summarize(200),
    CONTINUE: () => summarize(200, DOWN),
    FAILED: () => summarize(404),
  },
};

const ALL = (Object.keys(UPDATE_STEPS) as UpdateStepName[]).flatMap((step) =>
  Object.entries(PRODUCED[step]).map(([outcome, produce]) => ({ step, outcome, produce })),
);

test.each(ALL)(
  '$step returns $outcome with a complete state of less than 2,000 characters',
  async ({ outcome, produce }) => {
    const state = await produce();

    expect(state.outcome).toBe(outcome);
    expect(batchStateSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
    expect(state.failure === null).toBe(outcome !== 'FAILED');
    if (outcome === 'CONTINUE') expect(Number.isInteger(state.waitSeconds) && state.waitSeconds >= 1).toBe(true);
    expect(JSON.stringify(state).length).toBeLessThan(2000);
    expect(JSON.stringify(state)).not.toContain(CANARY);
  },
);

test('the table of this test has exactly the declared outcomes of each step', () => {
  for (const step of Object.keys(UPDATE_STEPS) as UpdateStepName[])
    expect(Object.keys(PRODUCED[step]).sort()).toEqual([...UPDATE_STEPS[step].outcomes].sort());
});

describe('the wrapper of the machine CustomerUpdates', () => {
  const answering = (log = testDeps()) => ({
    handler: asBatchStep('ApplyChunk', async () => ({ outcome: 'FINISHED' as const }), ...composed(log)),
    lines: log.log.lines,
  });

  test('logs the batch, the chunk and the outcome of an answer', async () => {
    const { handler, lines } = answering();

    await handler(begun({ chunk: wholeChunk(INPUT) }), lambdaContext());

    expect(lines).toMatchObject([
      { message: 'answered', fields: { execution: 'b1-abc', batch: 'b1', chunk: 1, outcome: 'FINISHED' } },
    ]);
  });

  test('accepts the state that the map gives to a child execution', async () => {
    const { handler } = answering();
    const { execution, startedAt } = begun();

    const child = {
      machineVersion: MACHINE_VERSION,
      input: {},
      execution,
      startedAt,
      batch: batch(INPUT),
      chunk: wholeChunk(INPUT),
    };

    expect(await handler(child, lambdaContext())).toMatchObject({ outcome: 'FINISHED', place: null, waits: 0 });
  });
});

test('keeps the unknown fields of a state of a later release', () => {
  const state = { ...batchState(), later: { part: 3 }, batch: { ...batch(INPUT), region: 'north' } };

  expect(batchStateSchema.parse(state)).toMatchObject({ later: { part: 3 }, batch: { region: 'north' } });
});
