import { expect, test } from 'vitest';
import type { Fault } from './support/fake-endpoint.ts';
import { Simulation } from './support/simulation.ts';

/** A token endpoint that refuses with a word outside RFC 6749: the fault may pass, or the grant may be worthless. */

const MINUTE = 60_000;
const UNCLEAR: Fault = { kind: 'unclear', message: 'The token endpoint answered 400.', status: 400 };
const always = () => Array<Fault>(1000).fill(UNCLEAR);

/** Runs that retry every minute for so long; returns the names of their errors. */
async function runsFor(world: Simulation, minutes: number): Promise<Set<string>> {
  const names = new Set<string>();
  const runs = world.clients(3);
  for (let minute = 0; minute < minutes; minute += 1) {
    for (const answer of await world.ask(runs)) if (answer instanceof Error) names.add(answer.name);
    await world.pass(MINUTE);
  }
  return names;
}

test('one such refusal is repeated under the same claim, and costs nothing', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = [UNCLEAR];

  const answers = await world.ask(world.clients(20));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 2, reuses: 0 });
});

test('two are waited for, ten minutes long', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = [UNCLEAR, UNCLEAR];
  const start = world.clock.time;

  const [first] = await world.ask([world.client()]);
  const [second] = await world.ask([world.client()]);

  expect(first).toMatchObject({ name: 'CrmUnavailable', transient: true, status: 400 });
  expect((first as Error).message).toMatch(/^The token endpoint answered 400\. The next refresh is tried after 2026-/);
  expect(second).toMatchObject({ name: 'TokenRefreshInProgress', transient: true });
  await world.pass(10 * MINUTE);
  expect(await world.ask([world.client()])).toEqual([world.secrets.tokens.accessToken]);
  expect((world.endpoint.callTimes[2] ?? 0) - start).toBeGreaterThanOrEqual(10 * MINUTE);
});

test('after three claims a person has to authorize, and nobody presents the token any more', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = always();

  const names = await runsFor(world, 120);

  expect([...names]).toEqual(['CrmUnavailable', 'TokenRefreshInProgress', 'ReauthorizationRequired']);
  expect(world.endpoint.calls).toBe(4);
  const gaps = world.endpoint.callTimes.slice(1).map((time, index) => time - (world.endpoint.callTimes[index] ?? 0));
  expect(gaps.slice(1).every((gap) => gap >= 10 * MINUTE)).toBe(true);
  const [last] = await world.ask([world.client()]);
  expect((last as Error).message).toMatch(
    /^The grant in the secret tokens \(generation \S+\) was refused in 3 refreshes: The token endpoint answered 400\. Run: npx/,
  );
});

test('the token set is not dead by it: a consent ends it, and so does the next night of a CRM that has recovered', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = always();
  await runsFor(world, 30);
  expect(world.state).toEqual(['CLAIMED']);
  world.endpoint.faults = [];
  await world.pass(20 * 60 * MINUTE);

  expect(await world.ask([world.client()])).toEqual([world.secrets.tokens.accessToken]);

  const again = new Simulation().stored(-1);
  again.endpoint.faults = always();
  await runsFor(again, 30);
  const grant = again.endpoint.grant();
  await again.clock.run(again.storeGrant(grant, { now: () => again.clock.time }));
  expect(await again.ask(again.clients(5))).toEqual(Array(5).fill(grant.accessToken));
});

test('an access token that lives is used while its refresh is refused', async () => {
  const world = new Simulation().stored(200);
  const before = world.secrets.tokens.accessToken;
  world.endpoint.faults = always();

  expect(await world.ask([world.client()])).toEqual([before]);
  expect(await world.ask(world.clients(5))).toEqual(Array(5).fill(before));
  expect(world.endpoint.calls).toBe(2);
});

test.each<[string, Fault[], number]>([
  ['a lost answer before it, in the same claim', ['lostBefore', UNCLEAR], 2],
  ['a lost answer after it', [UNCLEAR, 'lostBefore'], 2],
])('with %s the token may be spent: it stays lost, and the CRM is left alone', async (_, faults, calls) => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = faults;

  const [answer] = await world.ask([world.client()]);

  expect(answer).toMatchObject({ name: 'CrmUnavailable' });
  expect(world.endpoint.calls).toBe(calls);
  expect(world.ledger.plain()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);
});

test('an unknown word in a claim after a lost one stays lost, however often', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = ['lostAfter', 'lostBefore', ...always()];

  const names = await runsFor(world, 600);

  expect([...names]).toEqual(['CrmUnavailable', 'TokenRefreshInProgress']);
  expect(world.counted).toContain('TokenEndpointUnanswered');
  expect(world.ledger.plain()).not.toMatchObject([{ refusals: expect.any(Number) }]);
});

test.each<[Fault, string]>([
  [{ kind: 'invalidGrant', message: 'The token endpoint answered 400: invalid_grant.' }, 'ReauthorizationRequired'],
  [{ kind: 'refused', message: 'The token endpoint answered 401: invalid_client.', status: 401 }, 'ConfigInvalid'],
])('what is said at the repetition counts: %j', async (second, name) => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = [UNCLEAR, second];

  const [answer] = await world.ask([world.client()]);

  expect(answer).toMatchObject({ name });
  expect(world.endpoint.calls).toBe(2);
});
