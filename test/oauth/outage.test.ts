import { expect, test } from 'vitest';
import type { GetAccessToken } from '../../core/oauth/access-token.ts';
import { expectTexts } from '../support/screen.ts';
import { Simulation } from './support/simulation.ts';

const MINUTE = 60;
const HOUR = 3600;

interface Outage {
  world: Simulation;
  runs: GetAccessToken[];
  /** The times of the calls to the token endpoint, in seconds. */
  calls: number[];
  names: string[];
  /** The time at which all runs had a token. */
  seconds: number;
}

/**
 * A token endpoint that answers 502 for `seconds`, and runs that retry every `every` seconds until all have a token.
 */
async function outage(
  seconds: number,
  every = 15,
  { world = new Simulation().stored(-1), count = 7 } = {},
): Promise<Outage> {
  const start = world.clock.time;
  const elapsed = () => Math.round((world.clock.time - start) / 1000);
  const calls: number[] = [];
  const runs = world.clients(count);
  world.endpoint.before = () => {
    calls.push(elapsed());
    // The CRM processes the refresh or not, depending on its rotation. The answer is lost.
    if (elapsed() <= seconds) world.endpoint.faults = [world.endpoint.rotation === 'none' ? 'lostAfter' : 'lostBefore'];
  };
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

test.each([
  ['40 minutes', 'strict', 40 * MINUTE, 120],
  ['6 hours', 'none', 6 * HOUR, 300],
  ['3 days', 'strict', 72 * HOUR, 1800],
] as const)(
  '502 for %s does not end the grant, and all runs are served after it (rotation: %s)',
  async (_, rotation, length, every) => {
    const world = new Simulation().stored(-1);
    world.endpoint.rotation = rotation;
    const { runs, names, seconds } = await outage(length, every, { world });

    expect(names).toEqual(['CrmUnavailable', 'TokenRefreshInProgress']);
    expect(await world.ask(runs)).toEqual(Array(7).fill(world.secrets.tokens.accessToken));
    expect(world.state).toEqual(['STORED']);
    // At most two hours after the end: the length of the pause, plus the cost of a lost refresh.
    expect(seconds - length).toBeLessThan(2 * HOUR + 20 * MINUTE);
    expect(world.endpoint.reuses).toBe(0);
  },
);

test('waits a lease, then 30, 60, 120 and 120 minutes between refreshes that get no answer', async () => {
  const { calls } = await outage(6 * HOUR, 60, { count: 2 });

  const first = calls.filter((_, index) => index % 2 === 0);
  const gaps = first.slice(1).map((time, index) => time - (first[index] ?? 0));
  const expected = [45, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE, 120 * MINUTE, 120 * MINUTE];
  expect(gaps.length).toBeGreaterThanOrEqual(5);
  for (const [index, gap] of gaps.entries()) {
    expect(gap).toBeGreaterThanOrEqual((expected[index] ?? 0) - 1);
    expect(gap).toBeLessThan((expected[index] ?? 0) + 90);
  }
});

test('counts TokenEndpointUnanswered after four hours without an answer, but not after three', async () => {
  const before = await outage(3 * HOUR, 300, { count: 2 });
  const { world } = await outage(4.2 * HOUR, 300, { count: 2 });

  expect(before.world.counted).toEqual(['TokenRefreshes']);
  expect(world.counted).toContain('TokenEndpointUnanswered');
});

test('between refreshes of an outage functions do not wait, and a new grant is stored within a lease', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = Array(4).fill('lostBefore');
  await world.ask([world.client()]);
  await world.pass(46_000);
  await world.ask([world.client()]);
  const start = world.clock.time;

  const answer = await world.one();

  expect(world.clock.time - start).toBeLessThan(1000);
  expect(answer).toMatchObject({ name: 'TokenRefreshInProgress', transient: true });
  expect((answer as Error).message).toMatch(/ 2026-11-20T01:00:0\S+Z.* 2026-11-20T01:30:4\S+Z/);
  await expectTexts('grant-unanswered', [
    ['between refreshes', (answer as Error).message.replace(/\d{4}-\S+Z/g, 'TIME')],
  ]);
  const grant = world.endpoint.grant();
  await world.clock.run(world.storeGrant(grant));
  expect(world.clock.time - start).toBeLessThan(50_000);
  await world.serves(20, 4);
});

test('claims without a presented token do not delay the next refresh', async () => {
  const world = new Simulation().stored(-1);
  for (let crash = 0; crash < 5; crash += 1) await world.diesAfterClaim(46_000);
  const start = world.clock.time;

  expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(world.secrets.tokens.accessToken));

  expect(world.clock.time - start).toBeLessThan(3000);
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
});
