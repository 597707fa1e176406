import { expect, test } from 'vitest';
import { authorizeWorld } from '../oauth/support/authorize-worlds.ts';
import { lostGrants } from '../oauth/support/lost-grants.ts';
import { refreshWorld } from '../oauth/support/refresh-worlds.ts';
import { runs } from '../support/runs.ts';

/** Repeats `test/oauth/worlds.test.ts` with many more worlds. */

test.each([
  ['authorizations', authorizeWorld, 12_000],
  ['refreshes', refreshWorld, 6000],
])('random %s lose a grant only in the documented cases', async (_, world, most) => {
  expect(await lostGrants(world, runs(most))).toEqual([]);
});
