import { expect, test } from 'vitest';
import { runs } from '../support/runs.ts';
import { authorizeWorld } from './support/authorize-worlds.ts';
import { lostGrants } from './support/lost-grants.ts';
import { refreshWorld } from './support/refresh-worlds.ts';

/** `test/long/oauth-worlds.test.ts` repeats this with many more worlds. */

test.each([
  ['commands and functions at once, and commands that die', authorizeWorld, 150],
  ['a slow token endpoint that refuses in any way', refreshWorld, 500],
])('no grant is lost except in the documented cases, and no token is presented twice: %s', async (_, world, most) => {
  expect(await lostGrants(world, runs(most))).toEqual([]);
});
