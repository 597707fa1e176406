import { expect, test } from 'vitest';
import { Simulation } from './support/simulation.ts';

/** A grant from a person that no function has refreshed yet. */
const untried = (lifeLeftSeconds = 3600) => new Simulation().stored(lifeLeftSeconds, { functionStoredAt: null });
const at = (world: Simulation) => new Date(world.clock.time).toISOString();

/** Stores a grant that a person has just given, as the command does. */
function authorize(world: Simulation): Promise<unknown> {
  const client = { clientId: 'id', clientSecret: 'c4n4ry-5ecret' };
  return world.clock.run(world.storeAuthorization(client, world.endpoint.grant()));
}

test('the first of seven functions refreshes a new grant, even if its access token is valid for an hour', async () => {
  const world = new Simulation().stored(-1);
  await authorize(world);
  const given = world.secrets.tokens;
  expect(given.functionStoredAt).toBeNull();

  const answers = await world.ask(world.clients(7));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(answers[0]).not.toBe(given.accessToken);
  expect(world.secrets.tokens.functionStoredAt?.slice(0, 16)).toBe(at(world).slice(0, 16));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  await world.ask(world.clients(7));
  expect(world.endpoint.calls).toBe(1);
});

test('a grant of an earlier release does not count as untried', async () => {
  const world = new Simulation().stored(3600);

  await world.serves(1, 0);
});

test('an untried access token is used if no version of the secret is left', async () => {
  const world = untried();
  const earlierObtainedAt = Array.from({ length: 95 }, () => at(world));
  world.secrets.place('often', { ...world.secrets.tokens, earlierObtainedAt });

  expect(await world.one()).toBe(world.secrets.tokens.accessToken);
});

test('a refresh by a command does not change functionStoredAt', async () => {
  const tried = new Simulation().stored(-1, { functionStoredAt: '2026-11-19T01:00:00.000Z' });
  const worlds = [untried(-1), tried];
  for (const world of worlds) await world.ask([world.client({ inFunction: false })]);

  expect(worlds.map(({ endpoint }) => endpoint.calls)).toEqual([1, 1]);
  expect(worlds.map(({ secrets }) => secrets.tokens.functionStoredAt)).toEqual([null, '2026-11-19T01:00:00.000Z']);
});

test('a command uses the access token of an untried grant, and does not refresh it', async () => {
  const world = new Simulation().stored(-1, { functionStoredAt: '2026-11-19T01:00:00.000Z' });
  const before = world.secrets.tokens.accessToken;
  await authorize(world);
  const given = world.secrets.tokens.accessToken;

  expect(await world.one({ inFunction: false })).toBe(given);
  expect(await world.ask([world.client({ inFunction: false })], { rejected: before })).toEqual([given]);
  expect(world.endpoint.calls).toBe(0);
});
