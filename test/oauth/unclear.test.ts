import { expect, test } from 'vitest';
import { expectTexts } from '../support/screen.ts';
import type { Fault } from './support/fake-endpoint.ts';
import { Simulation } from './support/simulation.ts';

/** A refusal with an unrecognised code: it may be temporary, or the grant may be worthless. */

const MINUTE = 60_000;
const expired = () => new Simulation().stored(-1);
const UNCLEAR: Fault = { kind: 'unclear', message: 'The token endpoint answered 400.', status: 400 };
const refusing = (...first: Fault[]) => {
  const world = expired();
  world.endpoint.faults = [...first, ...Array<Fault>(1000).fill(UNCLEAR)];
  return world;
};

/** Runs that retry for so long; returns the names of their errors. */
async function runsFor(world: Simulation, minutes: number, every = 1): Promise<string[]> {
  const names = new Set<string>();
  const runs = world.clients(3);
  for (let minute = 0; minute < minutes; minute += every) {
    for (const answer of await world.ask(runs)) if (answer instanceof Error) names.add(answer.name);
    await world.pass(every * MINUTE);
  }
  return [...names];
}

test('an unclear refusal is repeated under the same claim, and the next claim is ten minutes later', async () => {
  const world = expired();
  world.endpoint.faults = [UNCLEAR];
  await world.serves(20, 2);

  const again = expired();
  again.endpoint.faults = [UNCLEAR, UNCLEAR];
  const start = again.clock.time;
  const refused = await again.one();
  expect(refused).toMatchObject({ name: 'CrmUnavailable', transient: true, status: 400 });
  expect(await again.one()).toMatchObject({ name: 'TokenRefreshInProgress', transient: true });
  await again.pass(10 * MINUTE);
  await again.serves(1, 3);
  expect((again.endpoint.callTimes[2] ?? 0) - start).toBeGreaterThanOrEqual(10 * MINUTE);
});

test('an unclear refusal under three claims requires an authorization, and ends all calls', async () => {
  const first = await refusing().one();
  const world = refusing();

  expect(await runsFor(world, 120)).toEqual(['CrmUnavailable', 'TokenRefreshInProgress', 'ReauthorizationRequired']);

  const [, second = 0, third = 0, fourth = 0, ...more] = world.endpoint.callTimes;
  expect(more).toEqual([]);
  expect(Math.min(third - second, fourth - third)).toBeGreaterThanOrEqual(10 * MINUTE);
  await expectTexts('grant-refused', [
    ['under the first claim', (first as Error).message.replace(/\d{4}-\S+Z/g, 'TIME')],
    ['under the third claim', String(await world.one())],
  ]);
});

test('the refusal under the third claim itself requires an authorization', async () => {
  const world = refusing();
  const names: string[] = [];
  for (let claims = 0; claims < 3; claims += 1) {
    const answer = await world.one();
    if (answer instanceof Error) names.push(answer.name);
    await world.pass(10 * MINUTE);
  }
  expect(names).toEqual(['CrmUnavailable', 'CrmUnavailable', 'ReauthorizationRequired']);
});

test('an unclear refusal leaves the token set alive, for a new grant or a CRM that has recovered', async () => {
  const [consent, recovery] = [refusing(), refusing()];
  for (const world of [consent, recovery]) await runsFor(world, 30);
  expect(recovery.state).toEqual(['CLAIMED']);

  recovery.endpoint.faults = [];
  await recovery.pass(20 * 60 * MINUTE);
  await recovery.serves(1, 5);
  await consent.clock.run(consent.storeGrant());
  await consent.serves(5, 4);
});

test('an unclear refusal does not stop the use of a valid access token', async () => {
  const world = new Simulation().stored(200);
  world.endpoint.faults = Array<Fault>(1000).fill(UNCLEAR);

  await world.serves(1, 2);
  await world.serves(5, 2);
});

const ELSEWHERE: Fault = { kind: 'elsewhere', message: 'The token endpoint answered 405, which is none.', status: 405 };
const LOCKED: Fault = { kind: 'locked', message: 'The token endpoint answered 409: busy.', status: 409 };

test.each([UNCLEAR, ELSEWHERE, LOCKED])('a refusal after a lost answer stays lost: %j', async (refusal) => {
  const world = expired();
  world.endpoint.faults = ['lostAfter', 'lostBefore', ...Array<Fault>(1000).fill(refusal)];

  // More than the four hours after which the outage is counted.
  expect(await runsFor(world, 270, 5)).toEqual(['CrmUnavailable', 'TokenRefreshInProgress']);

  expect(world.counted).toContain('TokenEndpointUnanswered');
  expect(world.ledger.rows()).not.toMatchObject([{ refusals: expect.any(Number) }]);
});

test.each<[Fault, string]>([
  [{ kind: 'invalidGrant', message: 'The token endpoint answered 400: invalid_grant.' }, 'ReauthorizationRequired'],
  [{ kind: 'refused', message: 'The token endpoint answered 401: invalid_client.', status: 401 }, 'ConfigInvalid'],
])('an unclear refusal counts less than the answer to its repetition: %j', async (second, name) => {
  const world = expired();
  world.endpoint.faults = [UNCLEAR, second];

  expect(await world.one()).toMatchObject({ name });
  expect(world.endpoint.calls).toBe(2);
});
