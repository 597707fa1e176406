import { beforeEach, vi } from 'vitest';

/**
 * Gives this process, in every test of the file or of the block, a clock that stands at a time; timers go on as ever.
 */
export function clockAt(time: string): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date(time), toFake: ['Date'] });
    return () => void vi.useRealTimers();
  });
}
