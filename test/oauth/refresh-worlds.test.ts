import { expect, test } from 'vitest';
import { runs } from '../support/runs.ts';
import { refreshWorld } from './support/refresh-worlds.ts';

test('a slow token endpoint that refuses in any way ends no grant, and no token is presented twice', async () => {
  const lost: unknown[] = [];
  for (let seed = 1; seed <= runs(500); seed += 1) {
    const { answer, reuses, notStored } = await refreshWorld(seed);
    if (reuses > 0 || (answer instanceof Error && !notStored)) lost.push({ seed, answer, reuses });
  }

  expect(lost).toEqual([]);
});
