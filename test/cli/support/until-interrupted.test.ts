import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { endWith, untilInterrupted } from '../../../cli/support/until-interrupted.ts';

test('keeps its handler after the first SIGINT, so that a second one does not kill the command', async () => {
  const before = process.listenerCount('SIGINT');
  const interrupted = untilInterrupted('Stopped.', async (signal) => {
    await once(signal, 'abort');
    throw signal.reason;
  });
  process.emit('SIGINT');

  await expect(interrupted).rejects.toMatchObject({ message: 'Stopped.', exitCode: 130 });
  expect(process.listenerCount('SIGINT')).toBe(before + 1);
});

test('removes its handler if the work ends without a signal', async () => {
  const before = process.listenerCount('SIGINT');
  expect(await untilInterrupted('Stopped.', async () => 1)).toBe(1);
  expect(process.listenerCount('SIGINT')).toBe(before);
});

test('ends the process at once after a signal, also if the work then ended as usual', async () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const kept = untilInterrupted('Stopped.', (signal) => once(signal, 'abort'));
  process.emit('SIGTERM');
  await kept;
  endWith(0);

  expect(exit).toHaveBeenCalledExactlyOnceWith(0);
});
