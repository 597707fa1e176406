import { expect, test } from 'vitest';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

/** The limit of versions a day: Secrets Manager stores no more than a hundred. */

const DAY_MS = 86_400_000;

test('no token is spent at 95 versions within a day, and refreshes continue the next day', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.lifeSeconds = 720;
  const client = world.client();
  const names = new Set<string>();
  // Secrets Manager as documented: it keeps versions of the last day, and beyond a hundred it stores no more.
  const stored = [Date.parse(world.secrets.tokens.obtainedAt)];
  world.secrets.trouble = (operation) => {
    if (operation === 'GetSecretValue') return undefined;
    const young = stored.filter((time) => world.clock.time - time < DAY_MS);
    stored.push(world.clock.time);
    return young.length < 100 ? undefined : Object.assign(new Error('full'), { name: 'LimitExceededException' });
  };
  for (let look = 0; look < 600; look += 1) {
    const [answer] = await world.ask([client]);
    if (answer instanceof Error) names.add(answer.name);
    await world.pass(300_000);
  }

  expect([...names]).toEqual(['SecretVersionsExhausted']);
  expect(new Set(world.counted)).toEqual(new Set(['TokenRefreshes']));
  expect(world.counted).toHaveLength(world.endpoint.calls);
  for (const from of stored) {
    expect(stored.filter((time) => time >= from && time < from + DAY_MS - 1000).length).toBeLessThanOrEqual(95);
  }
  // The unused part of a day is available later, so two days have more than one day's number.
  expect(stored.length).toBeGreaterThan(150);
});

test('a new grant counts the versions of its predecessors', async () => {
  const world = new Simulation().stored(-1);
  const times = Array.from({ length: 94 }, (_, index) => new Date(world.clock.time - index * 1000).toISOString());
  world.secrets.place(FIRST_VERSION, { ...world.secrets.tokens, earlierObtainedAt: times });

  await world.clock.run(world.storeGrant());
  const [answer] = await world.ask([world.client()], { rejected: world.secrets.tokens.accessToken });

  expect(answer).toMatchObject({
    name: 'SecretVersionsExhausted',
    transient: true,
    message: expect.stringMatching(/^96 token sets .* within 24 hours.* after 2026-11-20T23:59:59.000Z\.$/),
  });
  expect(world.endpoint.calls).toBe(0);
  expect(world.ledger.rows()).toMatchObject([{ state: 'STORED' }]);
});
