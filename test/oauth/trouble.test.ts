import { describe, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import { expectTexts } from '../support/screen.ts';
import type { Fault } from './support/fake-endpoint.ts';
import { FIRST_VERSION, Simulation } from './support/simulation.ts';

/** Refreshes that fail, by each step that can fail. */

const MINUTE = 60_000;
const awsError = (name: string) => Object.assign(new Error('refused'), { name });
const expired = () => new Simulation().stored(-1);
const ONE_PERSON_NEEDED = { name: 'ReauthorizationRequired' };

describe('a write of the token set', () => {
  /** Refuses the first writes of the token set. */
  function refused(name: string, times = Number.POSITIVE_INFINITY) {
    const world = expired();
    let left = times;
    world.secrets.trouble = (operation) => {
      if (operation !== 'PutSecretValue' || left === 0) return undefined;
      left -= 1;
      return awsError(name);
    };
    return world;
  }

  test.each([
    ['is throttled', 'ThrottlingException', 5],
    ['is refused three times, as after a deployment,', 'AccessDeniedException', 3],
  ])('that %s is repeated with the same id and text', async (_, name, times) => {
    const world = refused(name, times);

    await world.serves(30, 1);

    expect(world.secrets.puts).toHaveLength(times + 1);
    expect(new Set(world.secrets.puts.map(({ token, text }) => token + text)).size).toBe(1);
    expect(world.secrets.puts[0]?.token).toBe(successorOf(FIRST_VERSION));
    expect(world.counted).toEqual(['TokenRefreshes']);
  });

  test.each(['AccessDeniedException', 'InternalServiceError', 'LimitExceededException'])(
    'that keeps failing (%s) returns the token to its caller, and stops all others',
    async (name) => {
      const world = refused(name);
      const start = world.clock.time;

      expect(await world.one()).toBe(world.endpoint.issued.at(-2));

      expect(world.clock.time - start).toBeLessThan(45_000);
      for (const error of await world.ask(world.clients(50))) expect(error).toMatchObject(ONE_PERSON_NEEDED);
      expect(world.state).toEqual(['DEAD']);
      expect(world.endpoint.calls).toBe(1);
      expect(world.counted).toEqual(['GrantRotatedButNotStored']);
    },
  );

  test.each([true, false])(
    'that fails loses no grant of a CRM that does not rotate (repeats the token: %s)',
    async (sends) => {
      const world = refused('AccessDeniedException');
      Object.assign(world.endpoint, { rotation: 'none', sendsRefreshToken: sends });

      for (const answer of await world.ask(world.clients(3))) expect(world.endpoint.issued).toContain(answer);

      expect(world.ledger.rows()).toMatchObject([{ state: 'CLAIMED', deadline: 0 }]);
      expect(world.counted).toEqual([]);
      world.secrets.trouble = () => undefined;
      await world.serves(20, 4);
    },
  );

  test('that fails returns the token to its caller, even if the ledger fails too', async () => {
    const world = refused('AccessDeniedException');
    world.ledger.trouble = () => (world.endpoint.calls > 0 ? awsError('InternalServerError') : undefined);

    expect(await world.one()).toBe(world.endpoint.issued.at(-2));
  });

  test('that gets no answer is aborted before the claim ends', async () => {
    const world = expired();
    world.secrets.silent = true;
    // The claim lasts 45 seconds, with a margin of 2 seconds.
    world.endpoint.before = () => world.clock.sleep(42_500);
    // The signal counts real time, so virtual time stands still until it has ended the write.
    const stand = async (): Promise<void> => {
      const end = performance.now() + 50_000;
      while (world.counted.length === 0 && performance.now() < end) await world.clock.sleep(0);
    };
    world.secrets.trouble = (operation) => void (operation === 'PutSecretValue' && stand());

    expect(await world.one()).toBe(world.endpoint.issued.at(-2));

    expect(world.secrets.puts).toHaveLength(1);
    expect(world.counted).toEqual(['GrantRotatedButNotStored']);
    expect(world.state).toEqual(['DEAD']);
  });

  test('that finds a successor with other content adopts it', async () => {
    const world = expired();
    const other = world.endpoint.grant();
    world.endpoint.before = () => world.secrets.place(successorOf(FIRST_VERSION), other);

    expect(await world.one()).toBe(other.accessToken);
    expect(world.secrets.tokens).toEqual(other);
    expect(world.state).toEqual(['STORED']);
    expect(world.counted).toEqual([]);
  });
});

describe('an answer that is lost', () => {
  test.each<[string, Fault]>([
    ['an answer without a token', { kind: 'lost', message: 'answered 200 without a token.' }],
    ['a 502 of a gateway', { kind: 'lost', message: 'answered 502.', status: 502 }],
    ['a request that did not arrive', 'lostBefore'],
  ])('twice leaves the grant alive: %s', async (_, fault) => {
    const world = expired();
    world.endpoint.faults = [fault, fault];

    const status = typeof fault === 'object' ? fault.status : undefined;
    expect(await world.one()).toMatchObject({ name: 'CrmUnavailable', transient: true, status });

    expect(world.ledger.rows()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);
    expect(world.ledger.rows()[0]?.deadline).toBeGreaterThan(world.clock.time);
    await world.serves(20, 3);
  });

  test.each([
    ['strict', 1],
    [{ graceSeconds: 60 }, 0],
    ['none', 0],
  ] as const)('once is requested once more (rotation: %j)', async (rotation, reuses) => {
    const world = expired();
    Object.assign(world.endpoint, { rotation, faults: ['lostAfter'] });

    const answers = await world.ask(world.clients(30));

    const given = answers.filter((answer) => answer === world.secrets.tokens.accessToken).length;
    expect(given).toBe(reuses === 0 ? 30 : 0);
    expect(world.endpoint).toMatchObject({ calls: 2, reuses });
    expect(world.state).toEqual([reuses === 0 ? 'STORED' : 'DEAD']);
  });

  test.each<[Fault[]]>([
    [['lostAfter', { kind: 'notSent', message: 'ECONNREFUSED' }]],
    [['lostBefore', { kind: 'unclear', message: 'The token endpoint answered 400.' }]],
    [[{ kind: 'unclear', message: 'The token endpoint answered 400.' }, 'lostBefore']],
  ])('may have spent the token, with any other answer: %j', async (faults) => {
    const world = expired();
    world.endpoint.faults = faults;

    expect(await world.one()).toMatchObject({ name: 'CrmUnavailable' });

    expect(world.endpoint.calls).toBe(2);
    expect(world.ledger.rows()).toMatchObject([{ state: 'CLAIMED', unanswered: 1 }]);
    expect(world.ledger.rows()[0]?.deadline).toBeGreaterThan(world.clock.time);
  });

  test('late in an invocation is not requested again', async () => {
    const world = expired();
    world.endpoint.delayMs = 25_000;
    const slow = world.client({
      change: ({ readClient }) => ({ readClient: () => world.clock.sleep(13_000).then(readClient) }),
    });

    expect(await world.ask([slow])).toMatchObject([{ name: 'CrmUnavailable' }]);
    expect(world.endpoint.calls).toBe(1);
  });
});

test.each<[Fault & object, string, boolean]>([
  [{ kind: 'notSent', message: 'ECONNREFUSED' }, 'CrmUnavailable', true],
  [{ kind: 'busy', message: '503', status: 503, retryAfterSeconds: 7 }, 'RateLimited', true],
  [{ kind: 'locked', message: '409: busy', status: 409, retryAfterSeconds: 7 }, 'CrmUnavailable', true],
  [{ kind: 'refused', message: '401: invalid_client', status: 401 }, 'ConfigInvalid', false],
])('after %j the claim is given back, and the next caller is served at once', async (fault, name, transient) => {
  const world = expired();
  const { status, retryAfterSeconds } = fault;
  for (let time = 0; time < 5; time += 1) {
    world.endpoint.faults = [fault];
    expect(await world.one()).toMatchObject({ name, transient, status, retryAfterSeconds });
  }
  expect(world.ledger.rows()).toMatchObject([{ state: 'CLAIMED', deadline: 0 }]);
  const start = world.clock.time;

  await world.serves(20, 6);

  expect(world.clock.time - start).toBeLessThan(3_000);
});

test.each([
  ['invalid_client', true],
  ['unauthorized_client', false],
  [undefined, false],
])('a refusal with the code %s names --new-secret: %s', async (code, names) => {
  const world = expired();
  world.endpoint.faults = [{ kind: 'refused', message: 'The answer mentions invalid_client.', status: 401, code }];

  const error = await world.one();

  expect(String(error).includes('--new-secret')).toBe(names);
});

describe('invalid_grant', () => {
  const INVALID: Fault = { kind: 'invalidGrant', message: 'invalid_grant.' };

  test.each([
    ['that has a successor', successorOf(FIRST_VERSION)],
    ['that a person has replaced', 'put-by-a-person-in-the-console-00001'],
  ])('for a token set %s does not end the grant', async (_, versionId) => {
    const world = expired();
    const newer = world.endpoint.grant();
    world.endpoint.faults = [INVALID];
    world.endpoint.before = () => world.secrets.place(versionId, newer);

    expect(await world.one()).toBe(newer.accessToken);
    expect(world.state).toEqual(['STORED']);
  });

  test('for the newest token set ends the grant, even if the version label is late', async () => {
    const world = expired();
    world.endpoint.lifeSeconds = 2;
    await world.serves(1, 1);
    world.endpoint.revoke(world.secrets.tokens.refreshToken);
    world.secrets.staleMs = 60_000;
    await world.pass(2000);

    expect(await world.one()).toMatchObject(ONE_PERSON_NEEDED);
    expect(world.state).toEqual(['STORED', 'DEAD']);
  });
});

test('a spent token set whose successor is gone requires a new authorization', async () => {
  const world = expired();
  const before = world.secrets.tokens;
  await world.serves(1, 1);
  world.secrets.versions.delete(world.secrets.currentVersionId);
  world.secrets.place(FIRST_VERSION, before);

  const soon = await world.one();
  await world.pass(2 * MINUTE);

  const late = await world.one();
  expect([soon, late]).toMatchObject([{ name: 'TokenRefreshInProgress' }, ONE_PERSON_NEEDED]);
  await expectTexts('grant-without-successor', [
    ['at once', (soon as Error).message],
    ['two minutes later', (late as Error).message.replace(/\d{4}-\S+Z/g, 'TIME')],
  ]);
  await world.clock.run(world.storeGrant());
  await world.serves(1, 1);
});

describe('no function calls the CRM', () => {
  test.each([
    ['ThrottlingException', 'TokenStoreUnavailable', true],
    ['InternalServerError', 'TokenStoreUnavailable', true],
    ['ResourceNotFoundException', 'TokenStoreUnavailable', true],
    ['AccessDeniedException', 'ConfigInvalid', false],
  ])('if the ledger answers %s', async (error, name, transient) => {
    const world = expired();
    world.ledger.trouble = () => awsError(error);

    for (const answer of await world.ask(world.clients(50))) expect(answer).toMatchObject({ name, transient });
    expect(world.endpoint.calls).toBe(0);
  });

  test('if the secret cannot be read', async () => {
    const world = expired();
    world.secrets.trouble = () => awsError('InternalServiceError');

    for (const answer of await world.ask(world.clients(50)))
      expect(answer).toMatchObject({ name: 'TokenStoreUnavailable' });
    expect(world.endpoint.calls).toBe(0);
    expect(world.ledger.written).toBe(0);
  });
});

describe('a function with too little time left', () => {
  const SOON = { name: 'TokenRefreshInProgress', transient: true };

  test.each(['secret', 'ledger', 'client'])('makes no call if the %s answers late', async (slow) => {
    const world = expired();
    const late = <T>(value: Promise<T>) => world.clock.sleep(16_000).then(() => value);
    const client = world.client({
      change: ({ store, ledger, readClient }) => {
        let claimed = false;
        const version: typeof store.version = (id) =>
          slow === 'secret' && claimed ? late(store.version(id)) : store.version(id);
        const claim: typeof ledger.claim = (...of) => {
          claimed = true;
          return slow === 'ledger' ? late(ledger.claim(...of)) : ledger.claim(...of);
        };
        return {
          store: { ...store, version },
          ledger: { ...ledger, claim },
          readClient: () => (slow === 'client' ? late(readClient()) : readClient()),
        };
      },
    });

    expect(await world.ask([client])).toMatchObject([SOON]);
    expect(world.endpoint.calls).toBe(0);
    expect(world.ledger.rows()).toMatchObject([{ deadline: 0 }]);
  });

  test('keeps no claim, makes no call, and does not delay the next invocation', async () => {
    const world = expired();
    let left = 20;
    const clients = world.clients(10, { secondsLeft: () => left });

    for (const answer of await world.ask(clients)) expect(answer).toMatchObject(SOON);

    expect(world.endpoint.calls).toBe(0);
    expect(world.ledger.rows()).toEqual([]);
    left = 900;
    await world.serves(clients, 1);
  });

  test('ends its wait for another holder in time', async () => {
    const world = expired();
    await world.diesAfterClaim();
    const start = world.clock.time;
    const secondsLeft = () => 60 - (world.clock.time - start) / 1000;

    expect(await world.one({ secondsLeft })).toMatchObject(SOON);
    expect(secondsLeft()).toBeGreaterThan(45);
  });
});
