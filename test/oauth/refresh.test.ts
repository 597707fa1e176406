import { describe, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

/** Expects that every client got the token that is now stored. */
function expectAllServed(world: Simulation, answers: (string | Error)[]) {
  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
}

describe.each([
  ['a server that rotates strictly', 'strict', true],
  ['a server that does not rotate and repeats the token', 'none', true],
  ['a server that does not rotate and sends no refresh token', 'none', false],
] as const)('%s', (_, rotation, sendsRefreshToken) => {
  function expired() {
    const world = new Simulation().stored(-1);
    Object.assign(world.endpoint, { rotation, sendsRefreshToken });
    return world;
  }

  test.each([50, 300, 1000])('%i clients on an expired token make one token call', async (count) => {
    const world = expired();

    const answers = await world.ask(world.clients(count));

    expectAllServed(world, answers);
    expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
    expect(world.secrets.puts.map(({ token }) => token)).toEqual([successorOf(FIRST_VERSION)]);
    expect(world.ledger.written).toBe(2);
  });

  test('twenty generations of two seconds for thirty clients cost twenty calls and versions', async () => {
    const world = expired();
    world.endpoint.lifeSeconds = 2;
    // Short waits of 0.25 s: longer ones would outlast a token of two seconds.
    const clients = world.clients(30, { change: () => ({ random: () => 0 }) });

    for (let generation = 0; generation < 20; generation += 1) {
      expectAllServed(world, await world.ask(clients));
      await world.pass(2000);
    }

    expect(world.endpoint).toMatchObject({ calls: 20, reuses: 0 });
    expect(world.secrets.versions.size).toBe(21);
  });

  test('the refresh token that is kept refreshes again', async () => {
    const world = expired();
    const before = world.secrets.tokens.refreshToken;

    await world.ask(world.clients(1));
    await world.pass(3_700_000);
    const answers = await world.ask(world.clients(1));

    expectAllServed(world, answers);
    expect(world.secrets.tokens.refreshToken === before).toBe(rotation === 'none');
    expect(world.secrets.versions.size).toBe(3);
  });
});

test('fifty clients on a valid token read one secret each, and nothing else happens', async () => {
  const world = new Simulation().stored(3000);

  const answers = await world.ask(world.clients(50));

  expectAllServed(world, answers);
  expect(world.secrets.operations).toEqual(Array.from({ length: 50 }, () => 'GetSecretValue tokens'));
  expect(world.endpoint.calls).toBe(0);
  expect(world.ledger.asked).toBe(0);
});

test('a container reads its valid token once', async () => {
  const world = new Simulation().stored(3000);
  const client = world.client();

  for (let call = 0; call < 100; call += 1) await world.ask([client]);

  expect(world.secrets.operations).toHaveLength(1);
});

test('of fifty clients shortly before the end, one refreshes and nobody waits', async () => {
  const world = new Simulation().stored(200);
  world.endpoint.delayMs = 5_000;
  const before = world.secrets.tokens.accessToken;
  const clients = world.clients(50);
  const start = world.clock.time;
  const took: number[] = [];
  const timed = clients.map(
    (client) => () =>
      client().then((answer) => {
        took.push(world.clock.time - start);
        return answer;
      }),
  );

  const answers = await world.ask(timed);

  expect(answers.filter((answer) => answer === before)).toHaveLength(49);
  expect(answers).toContain(world.secrets.tokens.accessToken);
  expect(took.filter((ms) => ms < 1000)).toHaveLength(49);
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('trouble with a refresh ahead of time is no trouble: the token still lives', async () => {
  const world = new Simulation().stored(200);
  const before = world.secrets.tokens.accessToken;
  world.endpoint.faults = [{ kind: 'busy', message: 'busy' }];

  expect(await world.ask([world.client()])).toEqual([before]);

  world.ledger.trouble = () => new Error('ledger down');
  expect(await world.ask([world.client()])).toEqual([before]);
});

test('a refresh ahead of time that the client or its secret spoils is no trouble either', async () => {
  const world = new Simulation().stored(200);
  const before = world.secrets.tokens.accessToken;
  world.endpoint.faults = [{ kind: 'refused', message: 'The token endpoint answered 401: invalid_client.' }];
  expect(await world.ask([world.client()])).toEqual([before]);

  world.secrets.oauthClient = 'not what it should be';
  expect(await world.ask([world.client()])).toEqual([before]);

  await world.pass(190_000);
  expect(await world.ask([world.client()])).toMatchObject([{ name: 'ConfigInvalid' }]);
});

test('five requests at once in one process are one claim and one token call', async () => {
  const world = new Simulation().stored(-1);
  const client = world.client();

  const answers = await world.ask([client, client, client, client, client]);

  expectAllServed(world, answers);
  expect(world.endpoint.calls).toBe(1);
  expect(world.ledger.asked).toBe(2);
});

test('whoever joins a running request with a refused token gets another one', async () => {
  const world = new Simulation().stored(3000);
  const { accessToken: rejected } = world.secrets.tokens;
  const client = world.client();

  const answers = await world.ask([client, (options) => client({ ...options, rejected })]);

  expect(answers).toEqual([rejected, world.secrets.tokens.accessToken]);
  expect(answers[1]).not.toBe(rejected);
  expect(world.endpoint.calls).toBe(1);
});

test('many that join a running request with a refused token make one refresh', async () => {
  const world = new Simulation().stored(3000);
  const { accessToken: rejected } = world.secrets.tokens;
  const client = world.client();
  const refused: typeof client = (options) => client({ ...options, rejected });

  const answers = await world.ask([client, refused, refused, refused]);

  expect(answers).toEqual([rejected, ...Array(3).fill(world.secrets.tokens.accessToken)]);
  expect(world.endpoint.calls).toBe(1);
});

test('a refresh that gives the same access token again costs one generation, not two', async () => {
  const world = new Simulation().stored(3000);
  const { accessToken: rejected } = world.secrets.tokens;
  const client = world.client({
    change: ({ callTokenEndpoint }) => ({
      callTokenEndpoint: async (...of) => {
        const answer = await callTokenEndpoint(...of);
        return answer.kind === 'granted' ? { ...answer, tokens: { ...answer.tokens, accessToken: rejected } } : answer;
      },
    }),
  });

  expect(await world.ask([client], { rejected })).toEqual([rejected]);

  expect(world.endpoint.calls).toBe(1);
  expect(world.secrets.puts).toHaveLength(1);
});

test('a token whose rights did not suffice is read again, once, and never refreshed for it', async () => {
  const world = new Simulation().stored(3000);
  const client = world.client();
  const { accessToken: reread } = world.secrets.tokens;
  await world.ask([client]);
  expect(await world.ask([client], { reread })).toEqual([reread]);
  expect(world.secrets.operations).toHaveLength(2);

  const grant = world.endpoint.grant();
  await world.clock.run(world.storeGrant(grant));
  const reads = world.secrets.operations.length;

  expect(await world.ask([client])).toEqual([reread]);
  expect(await world.ask([client, client], { reread })).toEqual([grant.accessToken, grant.accessToken]);
  expect(await world.ask([client], { reread })).toEqual([grant.accessToken]);
  expect(world.secrets.operations.slice(reads)).toEqual(['GetSecretValue tokens']);
  expect(world.endpoint.calls).toBe(0);
});

test('a token endpoint that takes 19 seconds is waited for, and nobody takes over', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 19_000;

  expectAllServed(world, await world.ask(world.clients(50)));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.ledger.plain()).toMatchObject([{ state: 'STORED' }]);
});

test('a token endpoint that takes 35 seconds is asked twice, and the claim ends before another one begins', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 35_000;
  const start = world.clock.time;

  const [answer] = await world.ask([world.client()]);

  expect(answer).toMatchObject({ name: 'CrmUnavailable' });
  expect(world.clock.time - start).toBeLessThan(35_000);
  expect(world.endpoint.calls).toBe(2);
  expect(world.ledger.plain()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);
});

test('whoever comes later waits for the whole lease', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 35_000;
  const start = world.clock.time;

  await world.ask(world.clients(20));

  const [, second = 0, third = 0] = world.endpoint.callTimes;
  expect(second - start).toBeLessThan(21_000);
  expect(third - start).toBeGreaterThanOrEqual(45_000);
});

test.each([3, 10, 60])('reads of the label that are %i seconds late cost no call', async (seconds) => {
  const world = new Simulation().stored(-1);
  world.secrets.staleMs = seconds * 1000;

  expectAllServed(world, await world.ask(world.clients(30)));
  expectAllServed(world, await world.ask(world.clients(30)));
  await world.pass(seconds * 1000);
  expectAllServed(world, await world.ask(world.clients(30)));

  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('several generations behind a late label are walked to the newest', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.lifeSeconds = 2;
  world.secrets.staleMs = 60_000;

  for (let generation = 0; generation < 5; generation += 1) {
    expectAllServed(world, await world.ask(world.clients(5)));
    await world.pass(2000);
  }

  expect(world.endpoint).toMatchObject({ calls: 5, reuses: 0 });
});

test('without its item of the ledger, a generation that has a successor is not spent again', async () => {
  const world = new Simulation().stored(-1);
  await world.ask(world.clients(1));
  world.ledger.items.clear();
  world.secrets.staleMs = 60_000;

  expectAllServed(world, await world.ask(world.clients(50)));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('a successor that appears between the look and the claim is found under the claim', async () => {
  const world = new Simulation().stored(-1);
  const late = world.client({
    change: ({ ledger }) => ({
      ledger: {
        ...ledger,
        claim: async (...of) => {
          await world.client()();
          world.ledger.items.clear();
          return ledger.claim(...of);
        },
      },
    }),
  });

  expectAllServed(world, await world.ask([late]));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('a refused token that another run has replaced is read again, without any token call', async () => {
  const world = new Simulation().stored(3000);
  const clients = world.clients(50);
  await world.ask(clients);
  const { accessToken: rejected } = world.secrets.tokens;
  await world.ask([world.client()], { rejected });
  expect(world.endpoint.calls).toBe(1);

  expectAllServed(world, await world.ask(clients, { rejected }));

  expect(world.secrets.tokens.accessToken).not.toBe(rejected);
  expect(world.endpoint.calls).toBe(1);
});

test('fifty workers whose current, unexpired token is refused make one refresh', async () => {
  const world = new Simulation().stored(3000);
  const clients = world.clients(50);
  await world.ask(clients);
  const { accessToken: rejected } = world.secrets.tokens;

  expectAllServed(world, await world.ask(clients, { rejected }));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('a token of unknown life is used for an hour, and refreshed by whoever finds it old', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.lifeSeconds = null;
  const client = world.client();
  await world.ask([client]);

  for (let call = 0; call < 100; call += 1) await world.ask([client]);
  expect(world.endpoint.calls).toBe(1);
  expect(world.secrets.tokens.expiresAt).toBeNull();

  await world.pass(3_600_000);
  expectAllServed(world, await world.ask([client]));
  expect(world.endpoint.calls).toBe(2);
});

test('a token of unknown life outlives its hour when nobody can refresh it', async () => {
  const world = new Simulation().stored(3000, { expiresAt: null });
  const before = world.secrets.tokens.accessToken;
  world.ledger.trouble = () => new Error('ledger down');
  await world.pass(10 * 86_400_000);

  expect(await world.ask([world.client()])).toEqual([before]);
});
