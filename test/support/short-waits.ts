import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/**
 * Divides the sleeps by `node:timers/promises` of this process by `times` until the end of the test. Timers of sockets
 * and of the SDK are unchanged.
 */
export function shortWaits(times = 50): void {
  const sleep = timers.setTimeout;
  const spy = vi.spyOn(timers, 'setTimeout').mockImplementation((ms, ...rest) => sleep((ms ?? 0) / times, ...rest));
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}
