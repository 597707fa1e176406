import { describe, expect, test } from 'vitest';
import type { GetAccessToken } from '../../core/oauth/access-token.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

const MINUTE = 60;
const HOUR = 3600;

interface Outage {
  world: Simulation;
  runs: GetAccessToken[];
  /** When the token endpoint was called, in seconds. */
  calls: number[];
  names: string[];
  /** When all runs were served. */
  seconds: number;
}

/** A token endpoint that answers 502 for so long, and runs that come back every `every` seconds until all are served. */
async function outage(seconds: number, every = 15, world = new Simulation().stored(-1)): Promise<Outage> {
  const start = world.clock.time;
  const elapsed = () => Math.round((world.clock.time - start) / 1000);
  const calls: number[] = [];
  const runs = world.clients(7, {
    change: ({ callTokenEndpoint }) => ({
      callTokenEndpoint: (...of) => {
        calls.push(elapsed());
        // Processed or not, by the CRM's rotation: the answer is lost.
        if (elapsed() <= seconds)
          world.endpoint.faults = [world.endpoint.rotation === 'none' ? 'lostAfter' : 'lostBefore'];
        return callTokenEndpoint(...of);
      },
    }),
  });
  const names = new Set<string>();
  while (elapsed() < seconds + 3 * HOUR) {
    const answers = await world.ask(runs);
    const errors = answers.filter((answer) => answer instanceof Error);
    for (const { name } of errors) names.add(name);
    if (errors.length === 0) break;
    await world.pass(every * 1000);
  }
  return { world, runs, calls, names: [...names].sort(), seconds: elapsed() };
}

describe.each(['strict', 'none'] as const)('a token endpoint that answers 502 (rotation: %s)', (rotation) => {
  test.each([
    ['40 minutes', 40 * MINUTE, 15],
    ['6 hours', 6 * HOUR, 120],
    ['3 days', 72 * HOUR, 1200],
  ])('for %s costs no grant: when it recovers, all runs are served', async (_, length, every) => {
    const world = new Simulation().stored(-1);
    world.endpoint.rotation = rotation;
    const { runs, names, seconds } = await outage(length, every, world);

    expect(names).toEqual(['CrmUnavailable', 'TokenRefreshInProgress']);
    expect(await world.ask(runs)).toEqual(Array(7).fill(world.secrets.tokens.accessToken));
    expect(world.state).toEqual(['STORED']);
    // Two hours at most after the end, for that is how long it is left alone, and what a lost refresh costs.
    expect(seconds - length).toBeLessThan(2 * HOUR + 20 * MINUTE);
    expect(world.endpoint.reuses).toBe(0);
  });
});

test('a CRM that does not answer is left alone longer each time: a lease, then 30, 60, 120 and 120 minutes', async () => {
  const { calls } = await outage(6 * HOUR, 60);

  const first = calls.filter((_, index) => index % 2 === 0);
  const gaps = first.slice(1).map((time, index) => time - (first[index] ?? 0));
  const expected = [45, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE, 120 * MINUTE, 120 * MINUTE];
  expect(gaps.length).toBeGreaterThanOrEqual(5);
  for (const [index, gap] of gaps.entries()) {
    expect(gap).toBeGreaterThanOrEqual((expected[index] ?? 0) - 1);
    expect(gap).toBeLessThan((expected[index] ?? 0) + 90);
  }
});

test('an outage that is over within a minute costs a lease', async () => {
  const { names, calls, seconds } = await outage(20);

  expect(names).toEqual(['CrmUnavailable']);
  expect(calls).toHaveLength(3);
  expect(seconds).toBeLessThan(90);
});

test('after four hours without an answer, and not before, an alarm is raised, though nobody may ask again yet', async () => {
  const before = await outage(3 * HOUR, 60);
  const { world } = await outage(4.2 * HOUR, 60);

  expect(before.world.counted).toEqual(['TokenRefreshes']);
  expect(world.counted).toContain('TokenEndpointUnanswered');
});

test('while the CRM is left alone nobody waits in a function, and a new grant is stored within a lease', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = Array(4).fill('lostBefore');
  await world.ask([world.client()]);
  await world.pass(46_000);
  await world.ask([world.client()]);
  const start = world.clock.time;

  const [answer] = await world.ask([world.client()]);

  expect(world.clock.time - start).toBeLessThan(1000);
  expect(answer).toMatchObject({ name: 'TokenRefreshInProgress', transient: true });
  expect((answer as Error).message).toMatch(
    /^No refresh .* since 2026-11-20T01:00:0\S+Z; the next is tried after 2026-11-20T01:30:4\S+Z\.$/,
  );
  const grant = world.endpoint.grant();
  await world.clock.run(world.storeGrant(grant, { now: () => world.clock.time }));
  expect(world.clock.time - start).toBeLessThan(50_000);
  expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(grant.accessToken));
  expect(world.endpoint).toMatchObject({ calls: 4, reuses: 0 });
});

test('claims under which nothing was presented use up nothing', async () => {
  const world = new Simulation().stored(-1);
  for (let crash = 0; crash < 5; crash += 1) await world.dies({ diesAfter: 'claim' }, 46_000);
  const start = world.clock.time;

  expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(world.secrets.tokens.accessToken));

  expect(world.clock.time - start).toBeLessThan(3000);
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});

test('a claim is given back at once where the secret cannot be read under it', async () => {
  const world = new Simulation().stored(-1);
  let reads = 0;
  world.secrets.trouble = () => {
    reads += 1;
    return reads === 3 ? Object.assign(new Error('no'), { name: 'InternalServiceError' }) : undefined;
  };
  const start = world.clock.time;

  const answers = [...(await world.ask([world.client()])), ...(await world.ask([world.client()]))];

  expect(answers[0]).toMatchObject({ name: 'TokenStoreUnavailable' });
  expect(answers[1]).toBe(world.secrets.tokens.accessToken);
  expect(world.clock.time - start).toBeLessThan(2000);
});

describe('items of the ledger that the previous release wrote', () => {
  const place = (world: Simulation, item: Record<string, string | number>) => {
    const attribute = (value: string | number) => (typeof value === 'number' ? { N: String(value) } : { S: value });
    const plain = { pk: `tokens#${FIRST_VERSION}`, owner: 'of-the-previous-release', ttl: 1_900_000_000, ...item };
    const attributes = Object.entries(plain).map(([name, value]) => [name, attribute(value)]);
    world.ledger.items.set(`tokens#${FIRST_VERSION}`, Object.fromEntries(attributes));
  };

  test('a grant that it gave up after three refreshes without an answer is refreshed', async () => {
    const world = new Simulation().stored(-1);
    place(world, { state: 'CLAIMED', attempt: 3, deadline: world.clock.time - 1 });

    expect(await world.ask(world.clients(5))).toEqual(Array(5).fill(world.secrets.tokens.accessToken));
  });

  test('what it held for half an hour is left alone for as long', async () => {
    const world = new Simulation().stored(-1);
    place(world, { state: 'CLAIMED', attempt: 2, deadline: world.clock.time + 1_800_000 });

    expect(await world.ask([world.client()])).toMatchObject([{ name: 'TokenRefreshInProgress' }]);
    await world.pass(1_801_000);
    expect(await world.ask([world.client()])).toEqual([world.secrets.tokens.accessToken]);
  });

  test('a dead generation over which its command died is not brought back to life, and its reason quotes nobody', async () => {
    const world = new Simulation().stored(-1);
    const reason = 'The token endpoint answered 400: invalid_grant (the token refresh-0 is gone (really)).';
    const death = { reason, diedAt: '2026-11-20T00:00:00.000Z' };
    place(world, { state: 'CLAIMED', attempt: 4, deadline: world.clock.time - 1, ...death });

    const [answer] = await world.ask([world.client()]);

    expect(answer).toMatchObject({
      name: 'ReauthorizationRequired',
      message: expect.stringContaining(
        'dead since 2026-11-20T00:00:00.000Z: The token endpoint answered 400: invalid_grant. Run:',
      ),
    });
    expect(world.endpoint.calls).toBe(0);
  });
});

/** What the previous release made of an item: it knows three states, and claims what is claimed fewer than three times. */
function previousRelease([item]: Record<string, unknown>[], now: number): 'claims' | 'waits' | 'gives up' {
  const { state, attempt, deadline } = item ?? {};
  expect(['CLAIMED', 'STORED', 'DEAD']).toContain(state);
  expect([typeof attempt, typeof deadline]).toEqual(['number', 'number']);
  if (state === 'DEAD') return 'gives up';
  if (state !== 'CLAIMED' || Number(deadline) >= now) return 'waits';
  return Number(attempt) < 3 ? 'claims' : 'gives up';
}

describe('the previous release, which runs while a deployment switches the functions', () => {
  test('waits while a CRM is left alone, and never takes a long outage for a dead grant', async () => {
    const world = new Simulation().stored(-1);
    world.endpoint.faults = Array(100).fill('lostBefore');
    for (let round = 0; round < 10; round += 1) {
      await world.ask([world.client()]);
      expect(previousRelease(world.ledger.plain(), world.clock.time)).toBe('waits');
      await world.pass(121 * MINUTE * 1000);
      expect(previousRelease(world.ledger.plain(), world.clock.time)).toBe('claims');
    }
  });

  test('never claims a generation over which a person authorized', async () => {
    const world = new Simulation().stored(-1);
    void world.storeGrant(undefined, { diesAfterClaim: true, now: () => world.clock.time });
    await world.pass(1000);
    expect(previousRelease(world.ledger.plain(), world.clock.time)).toBe('waits');
    await world.pass(60_000);
    expect(previousRelease(world.ledger.plain(), world.clock.time)).toBe('gives up');
  });
});
