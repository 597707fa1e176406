import { describe, expect, test } from 'vitest';
import type { ResultLine } from '../../../core/batch/batch-results.ts';
import { RunError } from '../../../core/errors.ts';
import { chunkWorld, inputOf, KEYS, sleepingDeps, summarised } from '../../support/batches.ts';
import { type FakeBucket, failing } from '../../support/fake-bucket.ts';
import { expectTexts } from '../../support/screen.ts';

/** Checks the result of a whole batch after faults in several invocations. */

const NO_CONNECTION = new RunError('CrmUnavailable', 'No connection.');
const DOWN = new RunError('StorageUnavailable', 'Down.');

const brief = (results: ResultLine[]) =>
  results.map(({ outcome, error, status, attempts }) => [outcome, error, status, attempts]);

const stopOf = ({ store }: { store: FakeBucket }) => JSON.parse(store.text(KEYS.stop) ?? 'null');

test('a line whose answer was lost is UNKNOWN if the CRM then refuses all connections, and the batch stops', async () => {
  const met = chunkWorld(3, (line, nth) => (line === 1 ? 200 : nth === 1 && line === 2 ? 'lost' : NO_CONNECTION));

  const end = await met.run();

  expect(end).toMatchObject({ outcome: 'FAILED', failure: { error: 'CrmUnavailable' } });
  expect(met.sent).toEqual([1, 2]);
  expect(brief(await summarised(met))).toEqual([
    ['APPLIED', null, 200, 1],
    ['UNKNOWN', 'CrmUnavailable', null, 1],
    ['NOT_SENT', 'CrmUnavailable', null, 0],
  ]);
  expect(stopOf(met)).toMatchObject({ reason: 'CrmUnavailable' });
  await expectTexts('batch-chunk-given-up', [['a CRM without a connection', stopOf(met).sentence]]);
});

test('a line is UNKNOWN if a bug ends its function while it is sent', async () => {
  const met = chunkWorld(3, (line) => (line === 2 ? new TypeError('bug') : 200));

  await expect(met.step()).rejects.toThrow('TypeError');

  expect(brief(await summarised(met))).toEqual([
    ['APPLIED', null, 200, 1],
    ['UNKNOWN', 'StepCrashed', null, 0],
    ['NOT_SENT', 'UpdateStopped', null, 0],
  ]);
});

const dead = (records: number) => JSON.stringify({ doubt: { firstLine: 1, records }, by: 'the dead' });

test('lines that a dead function may have sent stay UNKNOWN except for those that the next invocation sent', async () => {
  const met = chunkWorld(6, (line) => (line < 3 ? 200 : NO_CONNECTION));
  met.store.put(KEYS.claim(1, 1), dead(4));

  await met.step();

  const outcomes = (await summarised(met)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['APPLIED', 'APPLIED', 'UNKNOWN', 'UNKNOWN', 'NOT_SENT', 'NOT_SENT']);
});

test('they also stay UNKNOWN if the next invocation ends between two lines', async () => {
  const met = chunkWorld(4, () => 404, { before: failing('putOnce', KEYS.failures, DOWN) });
  met.store.put(KEYS.claim(1, 1), dead(3));

  await met.step(met.stateWith({ stopAfterFailures: 9 }));

  const outcomes = (await summarised(met)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['UNKNOWN', 'UNKNOWN', 'UNKNOWN', 'NOT_SENT']);
});

test('a bucket that loses the answer to a claim leaves no line UNKNOWN', async () => {
  const met = chunkWorld(2, () => 404);
  // The client repeats the write, and its own first write makes S3 refuse it.
  const { putOnce } = met.store;
  const store = {
    ...met.store,
    putOnce: async (key: string, body: string) => (await putOnce(key, body)) && !key.endsWith('.begun.json'),
  };

  await met.run(met.state, { store });

  expect((await summarised(met)).map(({ outcome }) => outcome)).toEqual(['REJECTED', 'REJECTED']);
});

describe('a batch that does not end', () => {
  test('is stopped after two and a half days, half a day before its machine is', async () => {
    const met = chunkWorld(3, () => 200);
    const startedAt = '2026-11-17T13:10:00.000Z';

    expect(await met.run({ ...met.state, startedAt })).toMatchObject({ outcome: 'FINISHED' });

    expect(met.sent).toEqual([]);
    expect(brief(await summarised(met))).toEqual(Array(3).fill(['NOT_SENT', 'UpdateStopped', null, 0]));
    await expectTexts('batch-too-long', [['two and a half days', stopOf(met).sentence]]);
  });

  test('is reported without waiting for its rate once it is stopped', async () => {
    const met = chunkWorld(1000, () => 200, { change: { chunkRate: 0.1 } });
    met.store.put(KEYS.stop, '');
    const deps = sleepingDeps();

    await met.invoke(met.state, deps);

    expect(deps.slept()).toBeLessThanOrEqual(10);
  });

  test('is stopped by a chunk that ends in an error', async () => {
    const met = chunkWorld(1, () => 200);
    met.store.put(KEYS.input, inputOf(2));

    expect(await met.run()).toMatchObject({ outcome: 'FAILED', failure: { error: 'StorageConflict' } });

    expect(stopOf(met)).toMatchObject({ reason: 'StorageConflict' });
  });

  test('is not stopped by a transient error', async () => {
    const met = chunkWorld(1, () => NO_CONNECTION);

    await met.step({ ...met.state, waits: 44 });

    expect(met.store.keys()).not.toContain(KEYS.stop);
  });
});
