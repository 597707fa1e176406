import { expect, test } from 'vitest';
import { RunError } from '../../core/errors.ts';
import type { Fault } from './support/fake-endpoint.ts';
import { Simulation } from './support/simulation.ts';

const BUSY: Fault & object = { kind: 'busy', message: 'The token endpoint answered 429.' };

const REFUSALS: [string, Fault][] = [
  ['answered with 503', { kind: 'busy', message: 'The token endpoint answered 503.' }],
  ['not sent', { kind: 'notSent', message: 'ECONNREFUSED' }],
  ['not answered', 'lostBefore'],
  ['refused', { kind: 'refused', message: 'The token endpoint answered 401: invalid_client.' }],
];

test.each(REFUSALS)('an ageing token is returned 500 times with few calls while refreshes are %s', async (_, fault) => {
  const world = new Simulation().stored(200);
  const { accessToken } = world.secrets.tokens;
  world.endpoint.faults = Array(1000).fill(fault);

  const client = world.client();
  for (let call = 0; call < 500; call += 1) {
    expect(await world.ask([client])).toEqual([accessToken]);
    await world.pass(100);
  }

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

test.each([
  ['without a read of the secret', false],
  ['even if each 403 reads the secret', true],
])('an ageing token is used for the ten minutes that a Retry-After asks for, %s', async (_, isRefused) => {
  const world = new Simulation().stored(3000, { expiresAt: null });
  world.endpoint.faults = [{ ...BUSY, retryAfterSeconds: 600 }];
  const client = world.client();
  const { accessToken } = world.secrets.tokens;
  await world.pass(50 * 60_000);
  const start = world.clock.time;
  await world.ask([client]);
  const reads = world.secrets.operations.length;

  for (let look = 0; look < 59; look += 1) {
    expect(await world.ask([client], isRefused ? { reread: accessToken } : {})).toEqual([accessToken]);
    await world.pass(10_000);
  }
  expect(world.endpoint.calls).toBe(1);
  expect(world.secrets.operations.length > reads).toBe(isRefused);
  await world.pass(20_000);
  expect(await world.ask([client])).toEqual([world.secrets.tokens.accessToken]);
  expect((world.endpoint.callTimes[1] ?? 0) - start).toBeGreaterThanOrEqual(600_000);
});

test.each<[string, (world: Simulation) => unknown, string]>([
  [
    'the CRM asks for a longer wait',
    ({ endpoint }) => endpoint.faults.push({ ...BUSY, retryAfterSeconds: 86_400 }),
    'RateLimited',
  ],
  [
    'the former one was dead',
    ({ endpoint, secrets }) => endpoint.revoke(secrets.tokens.refreshToken),
    'ReauthorizationRequired',
  ],
])('a new grant is used at once, even if %s', async (_, before, name) => {
  const world = new Simulation().stored(-1);
  before(world);
  const client = world.client();
  expect(await world.ask([client])).toMatchObject([{ name }]);
  const grant = world.endpoint.grant();

  await world.clock.run(world.storeGrant(grant));

  expect(await world.ask([client])).toEqual([grant.accessToken]);
});

test('a token that is rejected with 401 is never returned again, even if refreshes keep failing', async () => {
  const world = new Simulation().stored(3000);
  const client = world.client();
  const { accessToken: rejected } = world.secrets.tokens;
  await world.ask([client]);
  world.endpoint.faults = Array(10).fill({ kind: 'notSent', message: 'ECONNREFUSED' });

  for (let call = 0; call < 10; call += 1) {
    expect(await world.ask([client], { rejected })).toMatchObject([{ name: 'CrmUnavailable', transient: true }]);
    await world.pass(100);
  }
});
