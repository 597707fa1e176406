import { expect, test } from 'vitest';
import { runs } from '../support/runs.ts';
import { authorizeWorld } from './support/authorize-worlds.ts';

/** Two commands at once, a CRM that ends former grants at a consent, commands that die, a second deployment. */

test('no grant is lost except in the documented cases, and no token is presented twice', async () => {
  const lost: unknown[] = [];
  for (let seed = 1; seed <= runs(150); seed += 1) {
    const { answer, documented, reuses } = await authorizeWorld(seed);
    if (reuses > 0 || (answer instanceof Error && documented === undefined)) lost.push({ seed, answer, reuses });
  }

  expect(lost).toEqual([]);
});
