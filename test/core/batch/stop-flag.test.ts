import { expect, test } from 'vitest';
import { createStopFlag } from '../../../core/batch/batch-state.ts';
import { KEYS } from '../../support/batches.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';

test('an empty object that a person writes stops the batch, and is read only once', async () => {
  const store = fakeBucket();
  const flag = createStopFlag(store, KEYS.stop);
  expect(await flag.read()).toBeUndefined();
  expect(flag.isSet()).toBe(false);
  store.put(KEYS.stop, '');

  expect(await flag.read()).toMatchObject({ reason: 'UpdateStopped', sentence: 'It was stopped by hand.' });
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
  const flag = createStopFlag(fakeBucket({ ...(before && { before }) }), KEYS.stop);

  await expect(flag.read()).rejects.toThrow('down');
  expect(await flag.read()).toBeUndefined();
});
