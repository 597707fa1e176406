import { expect, test } from 'vitest';
import { authorizeWorld } from '../oauth/support/authorize-worlds.ts';
import { refreshWorld } from '../oauth/support/refresh-worlds.ts';
import { runs } from '../support/runs.ts';

/** Repeats `test/oauth/authorize-worlds.test.ts` and `refresh-worlds.test.ts` with many more worlds. */

test('12,000 random authorizations lose a grant only in the documented cases', async () => {
  const lost: unknown[] = [];
  for (let seed = 1; seed <= runs(12_000); seed += 1) {
    const { answer, documented, reuses } = await authorizeWorld(seed);
    if (reuses > 0 || (answer instanceof Error && documented === undefined)) lost.push({ seed, answer, reuses });
  }

  expect(lost).toEqual([]);
});

test('6,000 worlds of a slow token endpoint that refuses in any way lose no grant', async () => {
  const lost: unknown[] = [];
  for (let seed = 1; seed <= runs(6000); seed += 1) {
    const { answer, reuses, notStored } = await refreshWorld(seed);
    if (reuses > 0 || (answer instanceof Error && !notStored)) lost.push({ seed, answer, reuses });
  }

  expect(lost).toEqual([]);
});
