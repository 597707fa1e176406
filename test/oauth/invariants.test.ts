import { expect, test } from 'vitest';
import { Simulation } from './support/simulation.ts';

/** Properties of the grant that the other tests do not cover. */

test('nobody has an access token before its refresh token is stored', async () => {
  const world = new Simulation().stored(-1);
  const throttled = Object.assign(new Error('slow down'), { name: 'ThrottlingException' });
  world.secrets.trouble = (operation) =>
    operation === 'PutSecretValue' && world.secrets.puts.length < 4 ? throttled : undefined;
  const seen: boolean[] = [];
  const looking = world.clients(20).map(
    (client) => () =>
      client().then((answer) => {
        seen.push(world.secrets.tokens.accessToken === answer.accessToken);
        return answer;
      }),
  );

  await world.ask(looking);

  expect(seen).toEqual(Array(20).fill(true));
});

test('a holder that comes back late changes nothing of what its successor in the claim does', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 19_000;
  // The client stops for a minute, like a frozen container, then releases a claim that it no longer owns.
  const stopped = world.client({
    change: () => ({
      callTokenEndpoint: async () => {
        await world.clock.sleep(50_000);
        return { kind: 'refused', message: 'invalid_client' };
      },
    }),
  });
  const late = stopped().catch((error: Error) => error.name);
  await world.pass(40_000);

  const answers = await world.ask(world.clients(30));

  expect(await world.clock.run(late)).toBe('ConfigInvalid');
  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.state).toEqual(['STORED']);
});

test('a death that comes late does not kill what another has stored', async () => {
  const world = new Simulation().stored(-1);
  const stopped = world.client({
    change: ({ store }) => ({
      store: {
        ...store,
        store: async () => {
          await world.clock.sleep(60_000);
          throw new Error('lost');
        },
      },
    }),
  });
  world.endpoint.rotation = 'none';
  void stopped().catch(() => undefined);
  await world.pass(50_000);
  await world.ask(world.clients(10));

  await world.pass(60_000);

  expect(world.state).toEqual(['STORED']);
  expect(world.secrets.puts).toHaveLength(1);
});

test('a refresh costs one version and two writes of the ledger', async () => {
  const world = new Simulation().stored(-1);

  await world.ask(world.clients(50));

  expect(world.secrets.puts).toHaveLength(1);
  expect(world.ledger.written).toBe(2);
  expect(world.counted).toEqual(['TokenRefreshes']);
});
