import { once } from 'node:events';
import { expect, test } from 'vitest';
import { untilInterrupted } from '../../../cli/support/until-interrupted.ts';

test('a signal that comes again while the command ends does not kill it', async () => {
  const before = process.listenerCount('SIGINT');
  const interrupted = untilInterrupted('Stopped.', async (signal) => {
    await once(signal, 'abort');
    throw signal.reason;
  });
  process.emit('SIGINT');

  await expect(interrupted).rejects.toMatchObject({ message: 'Stopped.', exitCode: 130 });
  expect(process.listenerCount('SIGINT')).toBe(before + 1);
});

test('work that ends by itself leaves signals as they were', async () => {
  const before = process.listenerCount('SIGINT');
  expect(await untilInterrupted('Stopped.', async () => 1)).toBe(1);
  expect(process.listenerCount('SIGINT')).toBe(before);
});
