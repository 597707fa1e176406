import { expect } from 'vitest';

/** CPU time of a task in milliseconds. A task that fails ends early. */
async function cpuOf(task: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage();
  await task().catch(() => undefined);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/**
 * Expects that an input of twice the size takes at most 24 times as long as one of a quarter. Quadratic time is 64 times.
 * The room is for V8, which collects the garbage of other tests during a measurement and can triple it.
 */
export async function expectLinearTime<T>(
  size: number,
  make: (size: number) => T,
  read: (input: T) => Promise<unknown>,
) {
  const [small, large] = [make(size / 4), make(2 * size)];
  await cpuOf(() => read(small));
  let [once, eightTimes] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // A single measurement may contain a collection of garbage, or work of another test.
  for (let round = 0; round < 3; round += 1) {
    once = Math.min(once, await cpuOf(() => read(small)));
    eightTimes = Math.min(eightTimes, await cpuOf(() => read(large)));
  }

  expect(eightTimes).toBeLessThan(24 * Math.max(10, once));
}
