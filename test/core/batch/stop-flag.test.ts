import { expect, test } from 'vitest';
import { createStopFlag } from '../../../core/batch/batch-state.ts';
import { KEYS } from '../../support/batches.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';

test('whatever a person puts there stops the batch, and is not read again', async () => {
  const store = fakeBucket();
  const flag = createStopFlag(store, KEYS.stop);
  expect(await flag.read()).toBeUndefined();
  expect(flag.seen()).toBe(false);
  store.put(KEYS.stop, '');

  expect(await flag.read()).toMatchObject({ reason: 'UpdateStopped', sentence: 'It was stopped by hand.' });
  expect(await flag.read()).toMatchObject({ reason: 'UpdateStopped' });
  expect(store.calls.filter((call) => call.startsWith('read'))).toHaveLength(2);
});

test('a batch that was stopped by hand was stopped when the object was written', async () => {
  const store = fakeBucket({ objects: { [KEYS.stop]: 'stop it' }, writtenAt: new Date('2026-11-20T01:02:03Z') });

  expect(await createStopFlag(store, KEYS.stop).read()).toMatchObject({ at: '2026-11-20T01:02:03.000Z' });
});

test('who raises it reads its own reason', async () => {
  const flag = createStopFlag(fakeBucket(), KEYS.stop);
  const stop = { reason: 'AuthRefused', sentence: 'No.', at: '2026-11-20T01:00:00.000Z' } as const;

  await flag.raise(stop);

  expect(await flag.read()).toEqual(stop);
  expect(flag.seen()).toBe(true);
});

test('a reading that fails is reported, and the next one is another', async () => {
  const before = failing('read', 'stop.json', new Error('down'));
  const flag = createStopFlag(fakeBucket({ ...(before && { before }) }), KEYS.stop);

  await expect(flag.read()).rejects.toThrow('down');
  expect(await flag.read()).toBeUndefined();
});
