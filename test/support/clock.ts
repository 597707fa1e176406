import { beforeEach, vi } from 'vitest';

/** Stops the clock of this process at a time, in every test of the file or block. Timers still run. */
export function clockAt(time: string): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date(time), toFake: ['Date'] });
    return () => void vi.useRealTimers();
  });
}
