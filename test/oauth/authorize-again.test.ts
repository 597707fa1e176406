import { describe, expect, test } from 'vitest';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

test('a grant that a person revoked is named once and for all, with what to do', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.revoke(world.secrets.tokens.refreshToken);
  const start = world.clock.time;

  const first = await world.ask(world.clients(20));
  const later = await world.ask(world.clients(20));

  expect(world.endpoint.calls).toBe(1);
  const diedAt = String(world.ledger.plain()[0]?.diedAt);
  expect(Date.parse(diedAt) - start).toBeLessThan(1000);
  const texts = new Set([...first, ...later].map((answer) => (answer as Error).message));
  expect([...texts]).toEqual([
    `The grant in the secret tokens (generation ${FIRST_VERSION}) is dead since ${diedAt}: ` +
      'The token endpoint answered 400: invalid_grant. Run: npx --no -- crm-export authorize --deployment dev.',
  ]);
});

test('a token that still lives is used though its grant is dead', async () => {
  const world = new Simulation().stored(200);
  const before = world.secrets.tokens.accessToken;
  world.endpoint.revoke(world.secrets.tokens.refreshToken);

  const first = await world.one();
  expect(first).toMatchObject({ name: 'ReauthorizationRequired' });
  expect(await world.one()).toBe(before);
  expect(world.endpoint.calls).toBe(1);
});

test('a new grant is stored over a dead one, and fifty clients are served without a call', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.revoke(world.secrets.tokens.refreshToken);
  await world.ask(world.clients(5));
  const grant = world.endpoint.grant();

  await world.clock.run(world.storeGrant(grant));

  await world.serves(50, 1);
  expect(world.secrets.currentVersionId).toBe(successorOf(FIRST_VERSION));
  expect(world.state).toEqual(['STORED']);
});

test('a new grant is stored over a generation whose refreshes never ended', async () => {
  const world = new Simulation().stored(-1);
  for (let crash = 0; crash < 3; crash += 1) await world.dies({ diesAfter: 'claim' }, 46_000);
  const grant = world.endpoint.grant();

  await world.clock.run(world.storeGrant(grant));

  await world.serves(50, 0);
});

/** A spent old token: the CRM gave a new one, which could not be stored. */
async function rotatedButNotStored() {
  const world = new Simulation().stored(-1);
  world.secrets.trouble = (operation) =>
    operation === 'PutSecretValue' ? Object.assign(new Error('no'), { name: 'AccessDeniedException' }) : undefined;
  await world.ask([world.client()]);
  world.secrets.trouble = () => undefined;
  expect(world.state).toEqual(['DEAD']);
  return world;
}

test('a command that dies over a dead generation does not bring it back to life', async () => {
  const world = await rotatedButNotStored();
  const now = () => world.clock.time;
  void world.storeGrant(undefined, { diesAfterClaim: true, now });
  await world.pass(1000);
  expect(world.state).toEqual(['AUTHORIZED']);

  // Any clock difference is allowed.
  for (const skewMs of [0, 300_000]) {
    const answers = await world.ask(world.clients(10, { skewMs }));
    for (const answer of answers) {
      expect(answer).toMatchObject({
        name: 'ReauthorizationRequired',
        message: expect.stringMatching(/is dead since \S+Z: the CRM rotated the grant, but it could not be stored\./),
      });
    }
  }

  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  const grant = world.endpoint.grant();
  await world.clock.run(world.storeGrant(grant, { now }));
  expect(await world.ask(world.clients(10))).toEqual(Array(10).fill(grant.accessToken));
});

/** A command has claimed a healthy token set, and was killed before it stored anything. */
async function killedUnderItsClaim() {
  const world = new Simulation().stored(-1);
  void world.storeGrant(undefined, { diesAfterClaim: true, now: () => world.clock.time });
  await world.pass(1000);
  return world;
}

test('a healthy generation over which a command died is refreshed by the first whose claim it is then', async () => {
  const world = await killedUnderItsClaim();
  const claimedAt = world.clock.time - 1000;

  const answers = await world.ask(world.clients(20));

  expect(answers).toEqual(Array(20).fill(world.secrets.tokens.accessToken));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  // Until the claim ends, the command may still be alive.
  expect(world.endpoint.callTimes[0]).toBeGreaterThan(claimedAt + 44_000);
  expect(world.state).toEqual(['STORED']);
});

test('where the CRM had ended it for the new grant, the CRM is asked once and everybody says so', async () => {
  const world = await killedUnderItsClaim();
  world.endpoint.revoke(world.secrets.tokens.refreshToken);

  const answers = [...(await world.ask(world.clients(20))), ...(await world.ask(world.clients(20)))];

  for (const answer of answers) {
    expect(answer).toMatchObject({
      name: 'ReauthorizationRequired',
      message: expect.stringMatching(/is dead since \S+Z: The token endpoint answered 400: invalid_grant\. Run: /),
    });
  }
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.state).toEqual(['DEAD']);
  const grant = world.endpoint.grant();
  await world.clock.run(world.storeGrant(grant, { now: () => world.clock.time }));
  expect(await world.ask(world.clients(10))).toEqual(Array(10).fill(grant.accessToken));
});

test('a command that is throttled to its end gives its claim back: nobody waits for the lease', async () => {
  const world = new Simulation().stored(-1);
  world.secrets.trouble = (operation) =>
    operation === 'PutSecretValue' ? Object.assign(new Error('slow'), { name: 'ThrottlingException' }) : undefined;
  const failed = world.storeGrant(undefined, { now: () => world.clock.time }).catch((error: Error) => error.name);
  expect(await world.clock.run(failed)).toBe('TokenStoreUnavailable');
  world.secrets.trouble = () => undefined;
  const start = world.clock.time;

  expect(await world.ask(world.clients(10))).toEqual(Array(10).fill(world.secrets.tokens.accessToken));

  expect(world.clock.time - start).toBeLessThan(2_000);
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('a command that stores after its claim has run out has the last word, and no token is spent twice', async () => {
  const world = new Simulation().stored(-1);
  const grant = world.endpoint.grant();
  const now = () => world.clock.time;
  const late = world.storeGrant(grant, { now, storesAfterMs: 60_000 });
  await world.pass(1000);

  expect(await world.ask(world.clients(10))).toEqual(Array(10).fill(world.secrets.tokens.accessToken));
  await world.clock.run(late);

  expect(world.secrets.tokens.refreshToken).toBe(grant.refreshToken);
  await world.serves(10, 1);
});

test("a death that vanishes while the command looks is nobody's, and the new grant is stored", async () => {
  const world = await rotatedButNotStored();
  let reads = 0;
  world.ledger.trouble = (operation) => {
    if (operation === 'read') reads += 1;
    // The items vanish between the command's read and its claim, through expiry or a restore of the table.
    if (operation === 'write' && reads > 0) world.ledger.items.clear();
    return undefined;
  };
  const grant = world.endpoint.grant();

  await world.clock.run(world.storeGrant(grant));

  await world.serves(10, 1);
});

test('a claim of the command is dated by the clock it is given, so functions wait for it', async () => {
  const world = new Simulation(Date.now() + 300_000).stored(-1);
  void world.storeGrant(undefined, { diesAfterClaim: true, now: () => world.clock.time });
  await world.pass(1000);

  const start = world.clock.time;
  const answers = await world.ask(world.clients(10));

  expect(world.clock.time - start).toBeGreaterThan(40_000);
  expect(answers).toEqual(Array(10).fill(world.secrets.tokens.accessToken));
  expect(world.endpoint.calls).toBe(1);
});

test('the command waits for a refresh that is running, and the last word is the new grant', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 5_000;
  const running = world.ask(world.clients(20));
  const grant = world.endpoint.grant();
  const storing = world.clock.sleep(1_000).then(() => world.storeGrant(grant));

  const answers = await world.clock.run(Promise.all([running, storing]));

  for (const answer of answers[0]) expect(answer).toBeTypeOf('string');
  expect(world.secrets.tokens).toMatchObject(grant);
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.secrets.puts.map(({ token }) => token)).toEqual([
    successorOf(FIRST_VERSION),
    successorOf(successorOf(FIRST_VERSION)),
  ]);
  expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(grant.accessToken));
});

test('many commands and many refreshes at once never make two successors of a generation', async () => {
  const world = new Simulation().stored(-1);
  const grants = [1, 2, 3].map(() => world.endpoint.grant());
  const storing = grants.map((grant, index) => world.clock.sleep(index * 20).then(() => world.storeGrant(grant)));
  const running = world.ask(world.clients(30));

  await world.clock.run(Promise.all([...storing, running]));

  const stored = world.secrets.puts.map(({ token }) => token);
  expect(new Set(stored).size).toBe(world.secrets.versions.size - 1);
  expect(world.endpoint.reuses).toBe(0);
  expect(grants.map(({ accessToken }) => accessToken)).toContain(world.secrets.tokens.accessToken);
});

test('clocks that differ by four seconds, at the slowest that is allowed', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 29_000 - 20_000;
  const slow = (call: number) => (call === 1 ? 20_000 : 9_000);
  let calls = 0;
  let stores = 0;
  const clients = world.clients(50, (index) => ({
    skewMs: index % 2 === 0 ? 4_000 : -4_000,
    change: ({ store, callTokenEndpoint }) => ({
      callTokenEndpoint: async (client, tokens, timeoutMs) => {
        calls += 1;
        if (calls > 1) return callTokenEndpoint(client, tokens, timeoutMs);
        await world.clock.sleep(slow(1));
        return { kind: 'lost', message: 'timeout' };
      },
      store: {
        ...store,
        store: async (...of) => {
          stores += 1;
          await world.clock.sleep(9_000);
          return store.store(...of);
        },
      },
    }),
  }));

  const answers = await world.ask(clients);

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(stores).toBe(1);
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.ledger.plain()).toMatchObject([{ state: 'STORED' }]);
});

test('the command never compares clocks: it watches a live claim for a whole lease', async () => {
  // The functions' clock is five minutes behind this machine's clock, which the command uses for its claims.
  const world = new Simulation(Date.now() - 300_000).stored(-1);
  await world.dies({ diesAfter: 'claim' });
  const start = world.clock.time;
  const grant = world.endpoint.grant();

  await world.clock.run(world.storeGrant(grant));

  expect(world.clock.time - start).toBeGreaterThan(45_000);
  expect(world.clock.time - start).toBeLessThan(50_000);
  await world.serves(20, 0);
});

test('a command whose clock is behind cannot make two successors', async () => {
  const world = new Simulation(Date.now() + 300_000).stored(-1);
  const grant = world.endpoint.grant();

  const [answers] = await world.clock.run(Promise.all([world.ask(world.clients(20)), world.storeGrant(grant)]));

  for (const answer of answers) expect(answer).toBeTypeOf('string');
  expect(world.secrets.tokens).toMatchObject({ accessToken: grant.accessToken, refreshToken: grant.refreshToken });
  expect(world.endpoint.reuses).toBe(0);
});

test('the very first grant follows a generation of its own, and only one of two commands is the first', async () => {
  const world = new Simulation();
  const one = world.endpoint.grant();
  const two = world.endpoint.grant();

  await world.clock.run(Promise.all([world.storeGrant(one), world.storeGrant(two)]));

  const first = successorOf(BEFORE_THE_FIRST);
  expect([...world.secrets.versions.keys()]).toEqual([first, successorOf(first)]);
  expect([one.accessToken, two.accessToken]).toContain(world.secrets.tokens.accessToken);
});

test('without any grant everybody says how to get one', async () => {
  const world = new Simulation();

  const answer = await world.one();

  expect(answer).toMatchObject({
    name: 'ConfigInvalid',
    message: expect.stringContaining('npx --no -- crm-export authorize'),
  });
});

describe('the numbers of authorizations', () => {
  const numbered = (world: Simulation, authorization: number) => ({ ...world.endpoint.grant(), authorization });

  test('an older consent is never stored over a newer one, refreshed meanwhile or not, and the command says so', async () => {
    const world = new Simulation().stored(-1);
    await world.clock.run(world.storeGrant(numbered(world, 2)));
    await world.ask([world.client()], { rejected: world.secrets.tokens.accessToken });
    const standing = world.secrets.tokens;
    expect(standing.authorization).toBe(2);

    const older = world.storeGrant(numbered(world, 1)).catch((error: Error) => error);

    expect(await world.clock.run(older)).toMatchObject({
      exitCode: 1,
      message: 'A later authorization (number 2) is stored already: the grant of this one (number 1) was not stored.',
    });
    expect(world.secrets.tokens).toEqual(standing);
    await world.pass(100_000);
    expect(await world.ask(world.clients(3))).toEqual(Array(3).fill(standing.accessToken));
  });

  test('a refusal leaves a dead grant dead', async () => {
    const world = new Simulation().stored(-1, { authorization: 5 });
    world.endpoint.revoke(world.secrets.tokens.refreshToken);
    await world.ask([world.client()]);

    await world.clock.run(world.storeGrant(numbered(world, 4)).catch(() => undefined));
    await world.pass(100_000);

    expect(await world.one()).toMatchObject({ name: 'ReauthorizationRequired' });
  });

  test('a grant of an earlier release has none, and any number takes its place', async () => {
    const world = new Simulation().stored(-1);
    const grant = numbered(world, 1);

    await world.clock.run(world.storeGrant(grant));

    expect(world.secrets.tokens).toMatchObject({ accessToken: grant.accessToken, authorization: 1 });
  });

  test('each is given out once, and above the stored one also where the ledger was lost', async () => {
    const world = new Simulation();
    const ledger = createLedger(world.ledger.client, 'ledger', 'tokens');
    const take = (least: number) => world.clock.run(ledger.takeNumber(least));

    expect([await take(1), await take(1)]).toEqual([1, 2]);
    const many = await world.clock.run(Promise.all([7, 7, 7].map((least) => ledger.takeNumber(least))));
    expect(new Set(many).size).toBe(3);
    for (const number of many) expect(number).toBeGreaterThanOrEqual(7);
  });
});
