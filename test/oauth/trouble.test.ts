import { expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import type { Fault } from './support/fake-endpoint.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

const awsError = (name: string) => Object.assign(new Error('refused'), { name });

/** Refuses the first writes of the token set. */
function refuseStores(world: Simulation, name: string, times = Number.POSITIVE_INFINITY) {
  let left = times;
  world.secrets.trouble = (operation) => {
    if (operation !== 'PutSecretValue' || left === 0) return undefined;
    left -= 1;
    return awsError(name);
  };
}

test('a store that is throttled five times is repeated with the same id and the same text', async () => {
  const world = new Simulation().stored(-1);
  refuseStores(world, 'ThrottlingException', 5);

  const answers = await world.ask(world.clients(30));

  expect(new Set(answers)).toEqual(new Set([world.secrets.tokens.accessToken]));
  expect(world.endpoint).toMatchObject({ calls: 1, reuses: 0 });
  expect(world.secrets.puts).toHaveLength(6);
  expect(new Set(world.secrets.puts.map(({ token, text }) => token + text)).size).toBe(1);
  expect(world.secrets.puts[0]?.token).toBe(successorOf(FIRST_VERSION));
});

test('a store that is refused for a moment, as right after a deployment, costs no grant', async () => {
  const world = new Simulation().stored(-1);
  refuseStores(world, 'AccessDeniedException', 3);

  expect(await world.ask([world.client()])).toEqual([world.secrets.tokens.accessToken]);

  expect(world.secrets.puts).toHaveLength(4);
  expect(world.counted).toEqual(['TokenRefreshes']);
});

test.each(['AccessDeniedException', 'InternalServiceError', 'LimitExceededException'])(
  'when the store fails for good (%s), its caller gets the token and everybody else stops',
  async (name) => {
    const world = new Simulation().stored(-1);
    refuseStores(world, name);
    const start = world.clock.time;

    const [answer] = await world.ask([world.client()]);

    expect(answer).toBe(world.endpoint.issued.at(-2));
    expect(world.clock.time - start).toBeLessThan(45_000);
    expect(world.counted.filter((event) => event === 'GrantRotatedButNotStored')).toHaveLength(1);
    expect(world.ledger.plain()).toMatchObject([
      { state: 'DEAD', reason: expect.stringContaining('could not be stored') },
    ]);
    const later = await world.ask(world.clients(50));
    for (const error of later) {
      expect(error).toMatchObject({
        name: 'ReauthorizationRequired',
        message: expect.stringContaining('rotated the grant, but it could not be stored'),
      });
    }
    expect(world.endpoint.calls).toBe(1);
    expect(world.counted.filter((event) => event === 'GrantRotatedButNotStored')).toHaveLength(1);
  },
);

test.each([true, false])(
  'a CRM that does not rotate loses nothing by a store that fails (repeats the token: %s)',
  async (sends) => {
    const world = new Simulation().stored(-1);
    Object.assign(world.endpoint, { rotation: 'none', sendsRefreshToken: sends });
    refuseStores(world, 'AccessDeniedException');

    const first = await world.ask(world.clients(3));

    for (const answer of first) expect(world.endpoint.issued).toContain(answer);
    expect(world.ledger.plain()).toMatchObject([{ state: 'CLAIMED', deadline: 0 }]);
    expect(world.counted).toEqual([]);
    world.secrets.trouble = () => undefined;
    expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(world.secrets.tokens.accessToken));
    expect(world.endpoint.calls).toBe(4);
  },
);

test('the caller gets its token even when the ledger fails as well', async () => {
  const world = new Simulation().stored(-1);
  refuseStores(world, 'AccessDeniedException');
  world.ledger.trouble = () => (world.endpoint.calls > 0 ? awsError('InternalServerError') : undefined);

  expect(await world.ask([world.client()])).toEqual([world.endpoint.issued.at(-2)]);
});

test.each<[string, Fault, string]>([
  ['an answer without a token', { kind: 'lost', message: 'answered 200 without a token.' }, 'CrmUnavailable'],
  ['a gateway without its server', { kind: 'lost', message: 'answered 502.', status: 502 }, 'CrmUnavailable'],
  ['a reset before the request', 'lostBefore', 'CrmUnavailable'],
])('%s is repeated once, then waited for, and proves nothing', async (_, fault, name) => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = [fault, fault];

  const [answer] = await world.ask([world.client()]);

  const status = typeof fault === 'object' ? fault.status : undefined;
  expect(answer).toMatchObject({ name, transient: true, status });
  expect(world.endpoint.calls).toBe(2);
  expect(world.ledger.plain()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);
  expect(world.ledger.plain()[0]?.deadline).toBeGreaterThan(world.clock.time);
  expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(world.secrets.tokens.accessToken));
});

test.each<[Fault & object, string, boolean]>([
  [{ kind: 'notSent', message: 'ECONNREFUSED' }, 'CrmUnavailable', true],
  [{ kind: 'busy', message: '503', status: 503, retryAfterSeconds: 7 }, 'RateLimited', true],
  [{ kind: 'refused', message: '401: invalid_client', status: 401 }, 'ConfigInvalid', false],
])('after %j the claim is given back, and the next caller is served at once', async (fault, name, transient) => {
  const world = new Simulation().stored(-1);
  for (let time = 0; time < 5; time += 1) {
    world.endpoint.faults = [fault];
    const [answer] = await world.ask([world.client()]);
    const { status, retryAfterSeconds } = fault;
    expect(answer).toMatchObject({ name, transient, status, retryAfterSeconds });
  }
  expect(world.ledger.plain()).toMatchObject([{ state: 'CLAIMED', deadline: 0 }]);
  const start = world.clock.time;

  expect(await world.ask(world.clients(20))).toEqual(Array(20).fill(world.secrets.tokens.accessToken));

  expect(world.clock.time - start).toBeLessThan(3_000);
  expect(world.endpoint).toMatchObject({ calls: 6, reuses: 0 });
});

test('a lost answer is not given back because the repetition was refused', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.faults = ['lostAfter', { kind: 'notSent', message: 'ECONNREFUSED' }];

  const [answer] = await world.ask([world.client()]);

  expect(answer).toMatchObject({ name: 'CrmUnavailable' });
  expect(world.ledger.plain()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);
  expect(world.ledger.plain()[0]?.deadline).toBeGreaterThan(world.clock.time);
});

test.each(['secret', 'ledger', 'client'])('a %s that answers too late leaves no time to spend', async (slow) => {
  const world = new Simulation().stored(-1);
  const late = <T>(value: Promise<T>) => world.clock.sleep(16_000).then(() => value);
  const client = world.client({
    change: ({ store, ledger, readClient }) => {
      let claimed = false;
      return {
        store: {
          ...store,
          version: (id) => (slow === 'secret' && claimed ? late(store.version(id)) : store.version(id)),
        },
        ledger: {
          ...ledger,
          claim: (...of) => {
            claimed = true;
            return slow === 'ledger' ? late(ledger.claim(...of)) : ledger.claim(...of);
          },
        },
        readClient: () => (slow === 'client' ? late(readClient()) : readClient()),
      };
    },
  });

  const [answer] = await world.ask([client]);

  expect(answer).toMatchObject({ name: 'TokenRefreshInProgress' });
  expect(world.endpoint.calls).toBe(0);
  expect(world.ledger.plain()).toMatchObject([{ deadline: 0 }]);
});

test('an answer that is lost late is not asked for again', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.delayMs = 25_000;
  const client = world.client({
    change: ({ readClient }) => ({ readClient: () => world.clock.sleep(13_000).then(readClient) }),
  });

  const [answer] = await world.ask([client]);

  expect(answer).toMatchObject({ name: 'CrmUnavailable' });
  expect(world.endpoint.calls).toBe(1);
});

test('invalid_grant for a generation that another writer has followed is no death', async () => {
  const world = new Simulation().stored(-1);
  const newer = world.endpoint.grant();
  world.endpoint.faults = [{ kind: 'invalidGrant', message: 'invalid_grant.' }];
  const client = world.client({
    change: ({ callTokenEndpoint }) => ({
      callTokenEndpoint: (...of) => {
        world.secrets.versions.set(successorOf(FIRST_VERSION), JSON.stringify(newer));
        return callTokenEndpoint(...of);
      },
    }),
  });

  expect(await world.ask([client])).toEqual([newer.accessToken]);
  expect(world.state).not.toContain('DEAD');
});

test('invalid_grant after a person has put another grant there is no death', async () => {
  const world = new Simulation().stored(-1);
  const newer = world.endpoint.grant();
  world.endpoint.faults = [{ kind: 'invalidGrant', message: 'invalid_grant.' }];
  const client = world.client({
    change: ({ callTokenEndpoint }) => ({
      callTokenEndpoint: (...of) => {
        world.secrets.place('put-by-a-person-in-the-console-00001', newer);
        return callTokenEndpoint(...of);
      },
    }),
  });

  expect(await world.ask([client])).toEqual([newer.accessToken]);
  expect(world.state).not.toContain('DEAD');
});

test('a label that is only late does not hide a death', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.lifeSeconds = 2;
  await world.ask([world.client()]);
  world.endpoint.revoke(world.secrets.tokens.refreshToken);
  world.secrets.staleMs = 60_000;
  await world.pass(2000);

  const [answer] = await world.ask([world.client()]);

  expect(answer).toMatchObject({ name: 'ReauthorizationRequired' });
  expect(world.state).toEqual(['STORED', 'DEAD']);
});

test('a spent token whose successor is gone is said as such, and a person ends it', async () => {
  const world = new Simulation().stored(-1);
  await world.ask([world.client()]);
  const before = world.secrets.versions.get(FIRST_VERSION) ?? '{}';
  world.secrets.versions.delete(world.secrets.currentVersionId);
  world.secrets.place(FIRST_VERSION, JSON.parse(before));

  const [soon] = await world.ask([world.client({ secondsLeft: () => 40 })]);
  await world.pass(120_000);
  const [later] = await world.ask([world.client()]);

  const what = 'its refresh token is spent, and the grant that followed it is not in the secret';
  expect(soon).toMatchObject({
    name: 'TokenRefreshInProgress',
    message: expect.stringContaining('not to be seen yet'),
  });
  expect(later).toMatchObject({ name: 'ReauthorizationRequired', message: expect.stringContaining(what) });
  expect(world.endpoint.calls).toBe(1);
  await world.clock.run(world.storeGrant());
  expect(await world.ask([world.client()])).toEqual([world.secrets.tokens.accessToken]);
});

test.each(['ThrottlingException', 'InternalServerError', 'ResourceNotFoundException'])(
  'a ledger that answers %s stops everybody, and nobody calls',
  async (name) => {
    const world = new Simulation().stored(-1);
    world.ledger.trouble = () => awsError(name);

    for (const answer of await world.ask(world.clients(50))) {
      expect(answer).toMatchObject({ name: 'TokenStoreUnavailable', transient: true });
    }
    expect(world.endpoint.calls).toBe(0);
  },
);

test('a ledger that may not be used is no trouble that passes: it is said at once, and nobody calls', async () => {
  const world = new Simulation().stored(-1);
  world.ledger.trouble = () => awsError('AccessDeniedException');
  const message = expect.stringMatching(
    /^The table ledger may not be used with these credentials: .*another --profile/,
  );

  for (const answer of await world.ask(world.clients(50))) {
    expect(answer).toMatchObject({ name: 'ConfigInvalid', transient: false, message });
  }
  expect(world.endpoint.calls).toBe(0);
  const storing = world.storeGrant().catch((error: Error) => error);
  expect(await world.clock.run(storing)).toMatchObject({ name: 'ConfigInvalid', message });
});

test('a secret that cannot be read stops everybody, and nobody calls', async () => {
  const world = new Simulation().stored(-1);
  world.secrets.trouble = () => awsError('InternalServiceError');

  const answers = await world.ask(world.clients(50));

  for (const answer of answers) expect(answer).toMatchObject({ name: 'TokenStoreUnavailable' });
  expect(world.endpoint.calls).toBe(0);
  expect(world.ledger.written).toBe(0);
});

test('with 20 seconds left no claim is kept, no call is made, and the next function is served', async () => {
  const world = new Simulation().stored(-1);

  const answers = await world.ask(world.clients(10, { secondsLeft: () => 20 }));

  for (const answer of answers) expect(answer).toMatchObject({ name: 'TokenRefreshInProgress', transient: true });
  expect(world.endpoint.calls).toBe(0);
  expect(world.ledger.plain()).toMatchObject([{ deadline: 0 }]);
  expect(await world.ask([world.client()])).toEqual([world.secrets.tokens.accessToken]);
});

test('who waits for a holder gives up while there is time to say so', async () => {
  const world = new Simulation().stored(-1);
  await world.dies({ diesAfter: 'claim' });
  const start = world.clock.time;
  const secondsLeft = () => 60 - (world.clock.time - start) / 1000;

  const [answer] = await world.ask([world.client({ secondsLeft })]);

  expect(answer).toMatchObject({ name: 'TokenRefreshInProgress' });
  expect(secondsLeft()).toBeGreaterThan(45);
});

test('every version is counted, and at 95 within a day no token is spent any more, which has its own name', async () => {
  const world = new Simulation().stored(-1);
  world.endpoint.lifeSeconds = 720;
  const client = world.client();
  const names = new Set<string>();
  // Secrets Manager as documented: it keeps versions of the last day, and beyond a hundred it stores no more.
  const stored = [Date.parse(world.secrets.tokens.obtainedAt)];
  world.secrets.trouble = (operation) => {
    if (operation === 'GetSecretValue') return undefined;
    const young = stored.filter((time) => world.clock.time - time < 86_400_000);
    stored.push(world.clock.time);
    return young.length < 100 ? undefined : awsError('LimitExceededException');
  };
  for (let look = 0; look < 600; look += 1) {
    const [answer] = await world.ask([client]);
    if (answer instanceof Error) names.add(answer.name);
    await world.pass(300_000);
  }

  expect([...names]).toEqual(['SecretVersionsExhausted']);
  expect(new Set(world.counted)).toEqual(new Set(['TokenRefreshes']));
  expect(world.counted).toHaveLength(world.endpoint.calls);
  for (const from of stored) {
    expect(stored.filter((time) => time >= from && time < from + 86_400_000 - 1000).length).toBeLessThanOrEqual(95);
  }
  // The unused part of a day is available later, so two days have more than one day's number.
  expect(stored.length).toBeGreaterThan(150);
});

test('a new grant of a person counts its predecessors too', async () => {
  const world = new Simulation().stored(-1);
  const times = Array.from({ length: 94 }, (_, index) => new Date(world.clock.time - index * 1000).toISOString());
  world.secrets.place(FIRST_VERSION, { ...world.secrets.tokens, earlierObtainedAt: times });

  await world.clock.run(world.storeGrant(undefined, { now: () => world.clock.time }));
  const [answer] = await world.ask([world.client()], { rejected: world.secrets.tokens.accessToken });

  expect(answer).toMatchObject({
    name: 'SecretVersionsExhausted',
    transient: true,
    message: expect.stringMatching(/^96 grants .* within 24 hours.* before 2026-11-20T23:59:59.000Z\.$/),
  });
  expect(world.endpoint.calls).toBe(0);
  expect(world.ledger.plain()).toMatchObject([{ state: 'STORED' }]);
});

test('what is odd in an answer is reported once it is stored', async () => {
  const world = new Simulation().stored(-1);
  const told: unknown[] = [];
  const client = world.client({
    change: ({ callTokenEndpoint }) => ({
      callTokenEndpoint: async (...of) => ({ ...(await callTokenEndpoint(...of)), oddities: ['status 201'] }),
      onOddities: (oddities) => told.push([oddities, world.secrets.puts.length]),
    }),
  });

  await world.ask([client]);

  expect(told).toEqual([[['status 201'], 1]]);
});

test('a successor that exists with another content is adopted, and nothing is lost', async () => {
  const world = new Simulation().stored(-1);
  const other = world.endpoint.grant();
  const client = world.client({
    change: ({ store }) => ({
      store: {
        ...store,
        store: (...of) => {
          world.secrets.place(successorOf(FIRST_VERSION), other);
          return store.store(...of);
        },
      },
    }),
  });

  expect(await world.ask([client])).toEqual([other.accessToken]);
  expect(world.secrets.tokens).toEqual(other);
  expect(world.state).toEqual(['STORED']);
  expect(world.counted).not.toContain('GrantRotatedButNotStored');
});

test('no token is in the ledger or in an error, whatever happened', async () => {
  const world = new Simulation().stored(-1);
  const said: string[] = [];
  for (const fault of ['lostBefore', 'lostAfter'] as const) {
    world.endpoint.faults = [fault, fault];
    said.push(...(await world.ask(world.clients(5))).filter((answer) => answer instanceof Error).map(String));
    await world.pass(50_000);
  }

  const places = `${said.join(' ')} ${JSON.stringify(world.ledger.plain())}`;
  expect(said.length).toBeGreaterThan(0);
  for (const token of world.endpoint.issued) expect(places).not.toContain(token);
});
