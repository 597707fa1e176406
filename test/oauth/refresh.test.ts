import { describe, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

/** Refreshes of healthy grants by any number of functions, some of which die or stop. */

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

  test('200 clients on an expired token cost one call, one version and two writes', async () => {
    const world = expired();

    await world.serves(200, 1);

    expect(world.secrets.puts.map(({ token }) => token)).toEqual([successorOf(FIRST_VERSION)]);
    expect(world.ledger.written).toBe(2);
    expect(world.counted).toEqual(['TokenRefreshes']);
  });

  test('ten token sets with a lifetime of two seconds cost twenty clients ten calls and versions', async () => {
    const world = expired();
    world.endpoint.lifeSeconds = 2;
    // Short waits of 0.25 s: longer ones would outlast a token of two seconds.
    const clients = world.clients(20, { change: () => ({ random: () => 0 }) });

    for (let tokenSet = 1; tokenSet <= 10; tokenSet += 1) {
      await world.serves(clients, tokenSet);
      await world.pass(2000);
    }

    expect(world.secrets.versions.size).toBe(11);
  });

  test('the stored refresh token refreshes again', async () => {
    const world = expired();
    const before = world.secrets.tokens.refreshToken;

    await world.serves(1, 1);
    await world.pass(3_700_000);
    await world.serves(1, 2);

    expect(world.secrets.tokens.refreshToken === before).toBe(rotation === 'none');
    expect(world.secrets.versions.size).toBe(3);
  });
});

test('a refresh claims the grant, stores the new token set, and only then returns the token', async () => {
  const world = new Simulation().stored(-1);
  const done: string[] = [];
  world.secrets.trouble = (operation, secret) => void done.push(`${operation} ${secret}`);
  world.ledger.trouble = () => void done.push('UpdateItem');
  world.endpoint.before = () => done.push('token endpoint');

  await world.serves(1, 1);

  expect(done).toEqual([
    'GetSecretValue tokens',
    'GetSecretValue tokens',
    'UpdateItem',
    'GetSecretValue tokens',
    'GetSecretValue client',
    'token endpoint',
    'PutSecretValue tokens',
    'UpdateItem',
  ]);
});

describe('a valid token', () => {
  test('costs each of fifty clients one read for ten requests', async () => {
    const world = new Simulation().stored(3000);
    const clients = world.clients(50);

    for (let call = 0; call < 10; call += 1) await world.serves(clients, 0);

    expect(world.secrets.operations).toEqual(Array.from({ length: 50 }, () => 'GetSecretValue tokens'));
    expect(world.ledger.asked).toBe(0);
  });

  test('is refreshed once if fifty clients report it as rejected, and clients that report it later read the secret again', async () => {
    const world = new Simulation().stored(3000);
    const [early, late] = [world.clients(50), world.clients(50)];
    await world.ask([...early, ...late]);
    const { accessToken: rejected } = world.secrets.tokens;

    await world.serves(early, 1, { rejected });
    await world.serves(late, 1, { rejected });

    expect(world.secrets.tokens.accessToken).not.toBe(rejected);
  });

  test('is read again once after a 403, and is not refreshed', async () => {
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
    await world.serves([client], 0, { reread });
    await world.serves([client], 0, { reread });
    expect(world.secrets.operations.slice(reads)).toEqual(['GetSecretValue tokens']);
  });
});

describe('several calls in one process', () => {
  test.each([1, 3])('make one refresh if %i of them report the token as rejected', async (count) => {
    const world = new Simulation().stored(3000);
    const { accessToken: rejected } = world.secrets.tokens;
    const client = world.client();
    const refused: typeof client = (options) => client({ ...options, rejected });

    const answers = await world.ask([client, ...Array<typeof client>(count).fill(refused)]);

    expect(answers).toEqual([rejected, ...Array(count).fill(world.secrets.tokens.accessToken)]);
    expect(answers[1]).not.toBe(rejected);
    expect(world.endpoint.calls).toBe(1);
  });

  test('store one token set if a refresh returns the same access token again', async () => {
    const world = new Simulation().stored(3000);
    const { accessToken: rejected } = world.secrets.tokens;
    const client = world.client({
      change: ({ callTokenEndpoint }) => ({
        callTokenEndpoint: async (...of) => {
          const answer = await callTokenEndpoint(...of);
          return answer.kind === 'granted'
            ? { ...answer, tokens: { ...answer.tokens, accessToken: rejected } }
            : answer;
        },
      }),
    });

    await world.serves([client], 1, { rejected });

    expect(world.secrets.puts).toHaveLength(1);
  });
});

describe('a token shortly before it expires', () => {
  test('is refreshed by one of fifty clients, and the others do not wait', async () => {
    const world = new Simulation().stored(200);
    world.endpoint.delayMs = 5_000;
    const before = world.secrets.tokens.accessToken;
    const start = world.clock.time;
    const took: number[] = [];
    const timed = world.clients(50).map(
      (client) => () =>
        client().finally(() => {
          took.push(world.clock.time - start);
        }),
    );

    const answers = await world.ask(timed);

    expect(answers.filter((answer) => answer === before)).toHaveLength(49);
    expect(answers).toContain(world.secrets.tokens.accessToken);
    expect(took.filter((ms) => ms < 1000)).toHaveLength(49);
    expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  });

  test('is used if its refresh fails, and the failure is reported after it has expired', async () => {
    const world = new Simulation().stored(200);
    const before = world.secrets.tokens.accessToken;
    world.endpoint.faults = [
      { kind: 'busy', message: 'busy' },
      { kind: 'refused', message: 'The token endpoint answered 401: invalid_client.' },
    ];
    expect([await world.one(), await world.one()]).toEqual([before, before]);

    world.secrets.oauthClient = 'not what it should be';
    expect(await world.one()).toBe(before);
    world.ledger.trouble = () => new Error('ledger down');
    expect(await world.one()).toBe(before);

    world.ledger.trouble = () => undefined;
    await world.pass(190_000);
    expect(await world.one()).toMatchObject({ name: 'ConfigInvalid' });
  });

  test('with an unknown lifetime is refreshed after an hour, and used longer if it cannot be refreshed', async () => {
    const world = new Simulation().stored(-1);
    world.endpoint.lifeSeconds = null;
    const client = world.client();
    for (let call = 0; call < 100; call += 1) await world.serves([client], 1);
    expect(world.secrets.tokens.expiresAt).toBeNull();

    await world.pass(3_600_000);
    await world.serves([client], 2);

    world.ledger.trouble = () => new Error('ledger down');
    await world.pass(10 * 86_400_000);
    await world.serves(1, 2);
  });
});

describe('a slow token endpoint', () => {
  test('that takes 35 seconds is called twice under one claim, and later callers wait until the claim ends', async () => {
    const world = new Simulation().stored(-1);
    world.endpoint.delayMs = 35_000;
    const start = world.clock.time;

    expect(await world.one()).toMatchObject({ name: 'CrmUnavailable' });
    expect(world.clock.time - start).toBeLessThan(36_000);
    expect(world.endpoint.calls).toBe(2);
    expect(world.ledger.rows()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);

    await world.ask(world.clients(20));
    const [, second = 0, third = 0] = world.endpoint.callTimes;
    expect(second - start).toBeLessThan(21_000);
    expect(third - start).toBeGreaterThanOrEqual(45_000);
  });

  test.each([12, 19])('that takes %i seconds has the whole time for its answer after a lost one', async (seconds) => {
    const world = new Simulation().stored(-1);
    world.endpoint.delayMs = seconds * 1000;
    world.endpoint.faults = ['lostBefore'];

    await world.serves(5, 2);
  });

  test('that takes 19 seconds to refuse is asked again only under the next claim', async () => {
    const world = new Simulation().stored(-1);
    world.endpoint.delayMs = 19_000;
    world.endpoint.faults = [{ kind: 'unclear', message: 'The token endpoint answered 400.', status: 400 }];

    expect(await world.one()).toMatchObject({ name: 'CrmUnavailable' });
    expect(world.endpoint.calls).toBe(1);
    await world.pass(11 * 60_000);
    await world.serves(5, 2);
  });
});

describe('late or lost state of AWS', () => {
  test.each([3, 10, 60])('a version label that is %i seconds late causes no additional call', async (seconds) => {
    const world = new Simulation().stored(-1);
    world.secrets.staleMs = seconds * 1000;

    await world.serves(30, 1);
    await world.serves(30, 1);
    await world.pass(seconds * 1000);
    await world.serves(30, 1);
  });

  test('functions follow several token sets from a late label to the newest one', async () => {
    const world = new Simulation().stored(-1);
    world.endpoint.lifeSeconds = 2;
    world.secrets.staleMs = 60_000;

    for (let tokenSet = 1; tokenSet <= 5; tokenSet += 1) {
      await world.serves(5, tokenSet);
      await world.pass(2000);
    }
  });

  test('an item of the ledger may be deleted thirty days after its claim', async () => {
    const world = new Simulation().stored(-1);
    const claimedAt = world.clock.time / 1000;
    await world.serves(1, 1);

    expect(Number(world.ledger.rows()[0]?.ttl) - claimedAt).toBeCloseTo(30 * 86_400, -1);
  });

  test('a successor that is stored just before the claim is found after the claim', async () => {
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

    await world.serves([late], 1);
  });
});

describe('a holder of the claim that dies or stops', () => {
  test('for longer than its claim does not affect the next holder', async () => {
    const world = new Simulation().stored(-1);
    world.endpoint.delayMs = 19_000;
    // The client stops like a frozen container, then releases a claim that it no longer owns.
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

    await world.serves(30, 1);

    expect(await world.clock.run(late)).toBe('ConfigInvalid');
    expect(world.state).toEqual(['STORED']);
  });
});
