import { expect, test } from 'vitest';
import { createStopFlag, FRESH_SECONDS } from '../../../core/batch/stop-flag.ts';
import { fakeStore, KEYS } from '../../support/batches.ts';
import { failing } from '../../support/fake-bucket.ts';

function world(before?: NonNullable<Parameters<typeof fakeStore>[0]>['before']) {
  const store = fakeStore({ ...(before && { before }) });
  let time = 0;
  const flag = createStopFlag(store, KEYS.stop, () => new Date(time));
  const wait = (seconds: number) => {
    time += seconds * 1000;
  };
  return { store, flag, wait, reads: () => store.calls.filter((call) => call.startsWith('read')).length };
}

test('a reading ahead counts once, and for a tenth of a second', async () => {
  const { store, flag, wait, reads } = world();
  flag.readAhead();
  await new Promise(setImmediate);
  wait(FRESH_SECONDS);
  store.put(KEYS.stop, '');

  expect(await flag.read()).toBeUndefined();
  expect(reads()).toBe(1);
  expect(await flag.read()).toMatchObject({ reason: 'UpdateStopped' });
});

test('an older reading does not count: the flag is read anew', async () => {
  const { store, flag, wait } = world();
  flag.readAhead();
  wait(FRESH_SECONDS + 0.001);
  store.put(KEYS.stop, '');

  expect(await flag.read()).toMatchObject({ sentence: 'It was stopped by hand.' });
});

test('a reading from before it was raised here does not count', async () => {
  const { flag } = world();
  const stop = { reason: 'AuthRefused', sentence: 'No.', at: '2026-11-20T01:00:00.000Z' } as const;
  flag.readAhead();

  await flag.raise(stop);

  expect(await flag.read()).toEqual(stop);
  expect(flag.seen()).toBe(true);
});

test('a reading ahead that fails is told to whoever reads, and the next one is another', async () => {
  const { flag } = world(failing('read', 'stop.json', new Error('down')));
  flag.readAhead();

  await expect(flag.read()).rejects.toThrow('down');
  expect(await flag.read()).toBeUndefined();
});
