import { expect, test } from 'vitest';
import { authorizeWorld } from '../oauth/support/authorize-worlds.ts';
import { runs } from '../support/runs.ts';

/** Repeats `test/oauth/authorize-worlds.test.ts` with many more worlds. */

test('in 12,000 worlds no grant is lost but by what the documents say', async () => {
  const lost: unknown[] = [];
  for (let seed = 1; seed <= runs(12_000); seed += 1) {
    const { answer, documented, reuses } = await authorizeWorld(seed);
    if (reuses > 0 || (answer instanceof Error && documented === undefined)) lost.push({ seed, answer, reuses });
  }

  expect(lost).toEqual([]);
});
