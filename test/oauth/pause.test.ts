import { expect, test } from 'vitest';
import { RunError } from '../../core/errors.ts';
import type { Fault } from './support/fake-endpoint.ts';
import { Simulation } from './support/simulation.ts';

const REFUSALS: [string, Fault, string][] = [
  ['answered with 503', { kind: 'busy', message: 'The token endpoint answered 503.' }, 'RateLimited'],
  ['not sent', { kind: 'notSent', message: 'ECONNREFUSED' }, 'CrmUnavailable'],
  ['not answered', 'lostBefore', 'CrmUnavailable'],
  ['refused', { kind: 'refused', message: 'The token endpoint answered 401: invalid_client.' }, 'ConfigInvalid'],
];

/** One warm function that asks 500 times within 50 seconds. */
async function fiveHundred(world: Simulation) {
  const client = world.client();
  const answers: (string | Error)[] = [];
  for (let call = 0; call < 500; call += 1) {
    answers.push(...(await world.ask([client])));
    await world.pass(100);
  }
  return { client, answers };
}

test.each(REFUSALS)('500 requests of a warm function make few calls while refreshes are %s', async (_, fault, name) => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = Array(1000).fill(fault);

  const { client, answers } = await fiveHundred(world);

  for (const answer of answers) expect(answer).toBeInstanceOf(Error);
  expect(answers[0]).toMatchObject({ name });
  expect(world.endpoint.calls).toBeLessThanOrEqual(4);
  // If the CRM is silent, one call waits for the end of the claim and polls in the meantime.
  expect(world.secrets.operations.length).toBeLessThanOrEqual(fault === 'lostBefore' ? 60 : 20);
  expect(world.ledger.asked).toBeLessThanOrEqual(fault === 'lostBefore' ? 30 : 10);
  world.endpoint.faults = [];
  await world.pass(31 * 60_000);
  expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
});

test.each(REFUSALS)('an ageing token is returned 500 times with few calls while refreshes are %s', async (_, fault) => {
  const world = new Simulation().stored(200);
  const { accessToken } = world.secrets.tokens;
  world.endpoint.faults = Array(1000).fill(fault);

  const { answers } = await fiveHundred(world);

  expect(new Set(answers)).toEqual(new Set([accessToken]));
  expect(world.endpoint.calls).toBeLessThanOrEqual(4);
  expect(world.secrets.operations.length).toBeLessThanOrEqual(20);
});

test('an ageing token is returned while the secret cannot be read, with at most two reads', async () => {
  const world = new Simulation().stored(900);
  const { accessToken } = world.secrets.tokens;
  const client = world.client();
  await world.ask([client]);
  await world.pass(700_000);
  world.secrets.trouble = () => Object.assign(new Error('down'), { name: 'InternalServiceError' });
  const reads = world.secrets.operations.length;

  for (let call = 0; call < 500; call += 1) {
    expect(await world.ask([client])).toEqual([accessToken]);
    await world.pass(100);
  }

  expect(world.secrets.operations.length - reads).toBeLessThanOrEqual(2);
  world.secrets.trouble = () => undefined;
  await world.pass(30_000);
  expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
  expect(world.endpoint.calls).toBe(1);
});

test('a token is still returned after a 403 if the secret cannot be read', async () => {
  const world = new Simulation().stored(3000);
  const { accessToken: reread } = world.secrets.tokens;
  const client = world.client();
  await world.ask([client]);
  world.secrets.trouble = () => Object.assign(new Error('down'), { name: 'InternalServiceError' });

  expect(await world.ask([client], { reread })).toEqual([reread]);
  expect(world.secrets.operations).toHaveLength(2);
  expect(await world.ask([client])).toEqual([reread]);
  await world.pass(20 * 60_000);
  expect(await world.ask([client])).toEqual([reread]);

  const grant = world.endpoint.grant();
  world.secrets.trouble = () => undefined;
  await world.clock.run(world.storeGrant(grant));
  expect(await world.ask([client], { reread })).toEqual([grant.accessToken]);
});

test.each([
  ['ageing', 200],
  ['stale', -1],
] as const)(
  'a cold function calls neither CRM nor ledger if it cannot read the successor of a token: %s',
  async (freshness, life) => {
    const world = new Simulation().stored(life);
    const { accessToken } = world.secrets.tokens;
    let down = true;
    const noSuccessor = async () => {
      throw new RunError('TokenStoreUnavailable', 'The secret could not be read.');
    };
    const client = world.client({
      change: ({ store }) => ({
        store: { ...store, version: (id) => (down ? noSuccessor() : store.version(id)) },
      }),
    });

    const [answer] = await world.ask([client]);

    if (freshness === 'ageing') expect(answer).toBe(accessToken);
    else expect(answer).toMatchObject({ name: 'TokenStoreUnavailable' });
    expect([world.endpoint.calls, world.ledger.asked]).toEqual([0, 0]);
    down = false;
    await world.pass(30_000);
    expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
    expect(world.endpoint.calls).toBe(1);
  },
);

test('a Retry-After of ten minutes delays the next call, and the secret is read in the meantime', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = [{ kind: 'busy', message: 'The token endpoint answered 429.', retryAfterSeconds: 600 }];
  const client = world.client();
  const start = world.clock.time;

  for (let look = 0; look < 59; look += 1) {
    expect(await world.ask([client])).toMatchObject([{ name: 'RateLimited' }]);
    await world.pass(10_000);
  }
  expect(world.endpoint.calls).toBe(1);
  expect(world.secrets.operations.length).toBeGreaterThan(30);
  await world.pass(20_000);
  expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
  expect((world.endpoint.callTimes[1] ?? 0) - start).toBeGreaterThanOrEqual(600_000);
});

test('a new grant is used within 30 seconds, even if the CRM asks for a longer wait', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = [{ kind: 'busy', message: 'The token endpoint answered 429.', retryAfterSeconds: 86_400 }];
  const client = world.client();
  await world.ask([client]);
  const grant = world.endpoint.grant();
  await world.clock.run(world.storeGrant(grant));

  await world.pass(30_000);

  expect(await world.ask([client])).toEqual([grant.accessToken]);
});

test('a dead grant is not cached: the first request after a new authorization succeeds', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.revoke(world.secrets.tokens.refreshToken);
  const client = world.client();
  expect(await world.ask([client])).toMatchObject([{ name: 'ReauthorizationRequired' }]);
  const grant = world.endpoint.grant();

  await world.clock.run(world.storeGrant(grant));

  expect(await world.ask([client])).toEqual([grant.accessToken]);
});

test('an invocation with too little time left does not affect the next one', async () => {
  const world = new Simulation().stored(-1);
  let left = 20;
  const client = world.client({ secondsLeft: () => left });
  expect(await world.ask([client])).toMatchObject([{ name: 'TokenRefreshInProgress' }]);

  left = 900;

  expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
});

test('a token that is rejected with 401 is never returned again, even if refreshes keep failing', async () => {
  const world = new Simulation().stored(3000);
  const client = world.client();
  const { accessToken: rejected } = world.secrets.tokens;
  await world.ask([client]);
  world.endpoint.faults = Array(10).fill({ kind: 'notSent', message: 'ECONNREFUSED' });

  for (let call = 0; call < 100; call += 1) {
    expect(await world.ask([client], { rejected })).toMatchObject([{ name: 'CrmUnavailable', transient: true }]);
    await world.pass(100);
  }

  expect(world.endpoint.calls).toBe(1);
});
