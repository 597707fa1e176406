import { expect, test } from 'vitest';
import { asBatchStep, batchStateSchema, createStopFlag } from '../../../core/batch/batch-state.ts';
import { MACHINE_VERSION } from '../../../core/step/steps.ts';
import { batch, batchState, inputOf, KEYS, wholeChunk } from '../../support/batches.ts';
import { composed, lambdaContext, testDeps } from '../../support/deps.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';

const INPUT = inputOf(2);

/** The state that the map gives to a child execution. */
function child() {
  const { execution, startedAt } = batchState();
  const about = { machineVersion: MACHINE_VERSION, input: {}, execution, startedAt };
  return { ...about, batch: batch(INPUT), chunk: wholeChunk(INPUT) };
}

test('a step accepts the state of a child of the map, and logs the batch, the chunk and the outcome', async () => {
  const deps = testDeps();
  const handler = asBatchStep('ApplyChunk', async () => ({ outcome: 'FINISHED' as const }), ...composed(deps));

  const state = await handler(child(), lambdaContext());

  expect(state).toMatchObject({ outcome: 'FINISHED', rounds: 0, waits: 0, failure: null });
  expect(batchStateSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
  const fields = { execution: 'b1-abc', batch: 'b1', chunk: 1, outcome: 'FINISHED' };
  expect(deps.log.lines).toMatchObject([{ message: 'answered', fields }]);
});

test('keeps the unknown fields of a state of a later release', () => {
  const state = { ...batchState(), later: { part: 3 }, batch: { ...batch(INPUT), region: 'north' } };

  expect(batchStateSchema.parse(state)).toMatchObject({ later: { part: 3 }, batch: { region: 'north' } });
});

test('an empty object that a person writes stops the batch, and is read only once', async () => {
  const store = fakeBucket();
  const flag = createStopFlag(store, KEYS.stop);
  expect(await flag.read()).toBeUndefined();
  expect(flag.isSet()).toBe(false);
  store.put(KEYS.stop, '');

  expect(await flag.read()).toMatchObject({ reason: 'UpdateStopped', sentence: expect.stringContaining('person') });
  expect(await flag.read()).toMatchObject({ reason: 'UpdateStopped' });
  expect(store.calls.filter((call) => call.startsWith('read'))).toHaveLength(2);
});

test('the process that raises the flag reads its own reason, and when the object was written', async () => {
  const flag = createStopFlag(fakeBucket({ writtenAt: new Date('2026-11-20T01:02:03Z') }), KEYS.stop);
  const stop = { reason: 'AuthRefused', sentence: 'No.' } as const;

  await flag.raise(stop);

  expect(await flag.read()).toEqual({ ...stop, at: '2026-11-20T01:02:03.000Z' });
  expect(flag.isSet()).toBe(true);
});

test('reports a failed read, and reads again at the next call', async () => {
  const before = failing('read', 'stop.json', new Error('down'));
  const flag = createStopFlag(fakeBucket({ before }), KEYS.stop);

  await expect(flag.read()).rejects.toThrow('down');
  expect(await flag.read()).toBeUndefined();
});
