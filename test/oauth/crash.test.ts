import { expect, test } from 'vitest';
import { LEASE_MS } from '../../core/oauth/ledger.ts';
import { Simulation } from './support/simulation.ts';

test.each(['strict', 'none'] as const)('a crash after the claim (%s) delays by a lease', async (rotation) => {
  const world = new Simulation().stored(-1);
  world.endpoint.rotation = rotation;
  const start = world.clock.time;
  await world.dies({ diesAfter: 'claim' });

  const answers = await world.ask(world.clients(20));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect((world.endpoint.callTimes[0] ?? 0) - start).toBeGreaterThanOrEqual(LEASE_MS);
  expect(world.clock.time - start).toBeLessThan(LEASE_MS + 5_000);
});

test('a crash after the token answer of a strict server costs one presentation more, then all stop', async () => {
  const world = new Simulation().stored(-1);
  await world.dies({ diesAfter: 'answer' });

  const first = await world.ask(world.clients(20));
  expect(world.endpoint.calls).toBe(2);
  const later = await world.ask(world.clients(100));

  for (const answer of [...first, ...later]) expect(answer).toMatchObject({ name: 'ReauthorizationRequired' });
  expect(new Set([...first, ...later].map((answer) => (answer as Error).message)).size).toBe(1);
  expect(world.endpoint.calls).toBe(2);
  expect(world.state).toEqual(['DEAD']);
});

test('the same with a grace of 60 seconds is repaired by the next', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.rotation = { graceSeconds: 60 };
  await world.dies({ diesAfter: 'answer' });

  const answers = await world.ask(world.clients(20));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 2, reuses: 0 });
});

test('the same without rotation is repaired by the next', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.rotation = 'none';
  await world.dies({ diesAfter: 'answer' });

  const answers = await world.ask(world.clients(20));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 2, reuses: 0 });
});

test.each(['strict', 'none'] as const)('a crash after the store (%s) costs nothing', async (rotation) => {
  const world = new Simulation().stored(-1);
  world.endpoint.rotation = rotation;
  await world.dies({ diesAfter: 'store' });
  const start = world.clock.time;

  const answers = await world.ask(world.clients(20));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.clock.time - start).toBeLessThan(1000);
  expect(world.state).toEqual(['CLAIMED']);
});

test('the last of three holders stored and died, and its successor counts', async () => {
  const world = new Simulation().stored(-1);
  for (let crash = 0; crash < 2; crash += 1) await world.dies({ diesAfter: 'claim' }, LEASE_MS + 1000);
  const client = world.client();
  await world.dies({ diesAfter: 'store' }, LEASE_MS + 1000);

  expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
  expect(world.endpoint.calls).toBe(1);
});

test.each([
  ['strict', 2, 1],
  [{ graceSeconds: 60 }, 2, 0],
  ['none', 2, 0],
] as const)('a lost answer with rotation %j is requested once more', async (rotation, calls, reuses) => {
  const world = new Simulation().stored(-1);
  world.endpoint.rotation = rotation;
  world.endpoint.faults = ['lostAfter'];

  const answers = await world.ask(world.clients(30));

  expect(world.endpoint).toMatchObject({ calls, reuses });
  const served = answers.filter((answer) => answer === world.secrets.tokens.accessToken).length;
  expect(served).toBe(reuses === 0 ? 30 : 0);
  expect(world.state).toEqual([reuses === 0 ? 'STORED' : 'DEAD']);
});

test('a request that was lost on its way is repeated, and nothing is lost', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = ['lostBefore'];

  const answers = await world.ask(world.clients(30));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 2, reuses: 0 });
});
