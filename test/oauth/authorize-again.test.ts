import { describe, expect, test } from 'vitest';
import { storeGrant } from '../../cli/access/store-grant.ts';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { LEASE_MS } from '../../core/oauth/ledger.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { expectTexts } from '../support/screen.ts';
import { FIRST_VERSION, never, Simulation } from './support/simulation.ts';

/** A person authorizes again while functions use, refresh or have lost the grant. */

const expired = () => new Simulation().stored(-1);
const awsError = (name: string) => Object.assign(new Error('no'), { name });

/** Makes every write of the secret fail. */
function refuseStores(world: Simulation, name: string) {
  world.secrets.trouble = (operation) => (operation === 'PutSecretValue' ? awsError(name) : undefined);
}

/** A grant that a person has withdrawn at the CRM, and that a function has found dead. */
async function withdrawn(overrides = {}) {
  const world = new Simulation().stored(-1, overrides);
  world.endpoint.revoke(world.secrets.tokens.refreshToken);
  const errors = await world.ask(world.clients(20));
  return { world, errors };
}

/** A spent old token: the CRM gave a new one, which could not be stored. */
async function rotatedButNotStored() {
  const world = expired();
  refuseStores(world, 'AccessDeniedException');
  await world.ask([world.client()]);
  world.secrets.trouble = () => undefined;
  expect(world.state).toEqual(['DEAD']);
  return world;
}

describe('a grant that a person withdrew', () => {
  test('is reported to all functions after one call, with the command to run', async () => {
    const { world, errors } = await withdrawn();
    const later = await world.ask(world.clients(20));

    expect(world.endpoint.calls).toBe(1);
    const diedAt = String(world.ledger.rows()[0]?.diedAt);
    expect(world.clock.time - Date.parse(diedAt)).toBeLessThan(10_000);
    const [text = '', ...others] = new Set([...errors, ...later].map(String));
    expect(others).toEqual([]);
    await expectTexts('grant-withdrawn', [['a refresh that is refused', text.replace(diedAt, 'TIME')]]);
  });

  test('does not stop the use of a valid access token', async () => {
    const world = new Simulation().stored(200);
    world.endpoint.revoke(world.secrets.tokens.refreshToken);

    expect(await world.one()).toMatchObject({ name: 'ReauthorizationRequired' });
    await world.serves(1, 1);
  });
});

test('a command that is killed while it holds the claim does not revive a dead token set', async () => {
  const world = await rotatedButNotStored();
  void world.storeGrant(undefined, never);
  await world.pass(1000);
  expect(world.state).toEqual(['DEAD']);
  const { calls } = world.endpoint;

  // Any clock difference is allowed.
  for (const skewMs of [0, 300_000]) {
    for (const answer of await world.ask(world.clients(20, { skewMs }))) {
      expect(answer).toMatchObject({ name: 'ReauthorizationRequired' });
      const text = (answer as Error).message.replace(/\d{4}-\S+Z/g, 'TIME');
      await expectTexts('grant-not-stored', [['a rotated grant that was not stored', text]]);
    }
  }
  expect(world.endpoint).toMatchObject({ calls, reuses: 0 });
  await world.authorized();
  await world.serves(10, 1);
});

test('a token set that a killed command of an earlier release has claimed counts as dead', async () => {
  const world = expired();
  const item = { pk: { S: '' }, state: { S: 'AUTHORIZED' }, owner: { S: 'a command' }, deadline: { N: '0' } };
  world.ledger.items.set(`tokens#${FIRST_VERSION}`, item);

  expect(await world.one()).toMatchObject({ name: 'ReauthorizationRequired' });
  expect(world.endpoint.calls).toBe(0);
  await world.authorized();
  await world.serves(10, 0);
});

describe('a command and functions at the same time', () => {
  test('a command that fails because it is throttled gives its claim back at once', async () => {
    const world = expired();
    refuseStores(world, 'ThrottlingException');
    const failed = world.storeGrant().catch((error: Error) => error.name);
    expect(await world.clock.run(failed)).toBe('TokenStoreUnavailable');
    world.secrets.trouble = () => undefined;
    const start = world.clock.time;

    await world.serves(10, 1);

    expect(world.clock.time - start).toBeLessThan(2_000);
  });

  test('a grant that a command stores after its claim has ended is the current one', async () => {
    const world = expired();
    const grant = world.endpoint.grant();
    const late = world.storeGrant(grant, () => world.clock.sleep(60_000));
    await world.pass(1000);

    await world.serves(10, 1);
    await world.clock.run(late);

    expect(world.secrets.tokens.refreshToken).toBe(grant.refreshToken);
    await world.serves(10, 1);
  });

  test('a command waits for a running refresh, and then its grant is the current one', async () => {
    const world = expired();
    world.endpoint.delayMs = 5_000;
    const running = world.ask(world.clients(20));
    const grant = world.endpoint.grant();
    const storing = world.clock.sleep(1_000).then(() => world.storeGrant(grant));

    const [answers] = await world.clock.run(Promise.all([running, storing]));

    for (const answer of answers) expect(answer).toBeTypeOf('string');
    const { accessToken, refreshToken } = grant;
    expect(world.secrets.tokens).toMatchObject({ accessToken, refreshToken });
    const second = successorOf(FIRST_VERSION);
    expect(world.secrets.puts.map(({ token }) => token)).toEqual([second, successorOf(second)]);
    await world.serves(20, 1);
  });

  test('a command waits for the next claim too if the claim changes hands', async () => {
    const world = expired();
    await world.diesAfterClaim();
    const start = world.clock.time;
    // It takes the claim over when that ends, and dies, too.
    void world
      .client({ diesAfterClaim: true })()
      .catch(() => undefined);

    await world.authorized();

    expect(world.clock.time - start).toBeGreaterThan(35_000 + LEASE_MS);
  });

  test('one of two commands stores the first grant, and the other its successor', async () => {
    const world = new Simulation();
    const message = expect.stringContaining('npx --no -- crm-export authorize');
    expect(await world.one()).toMatchObject({ name: 'ConfigInvalid', message });
    const grants = [world.endpoint.grant(), world.endpoint.grant()];

    await world.clock.run(Promise.all(grants.map((grant) => world.storeGrant(grant))));

    const first = successorOf(BEFORE_THE_FIRST);
    expect([...world.secrets.versions.keys()]).toEqual([first, successorOf(first)]);
    expect(grants.map(({ accessToken }) => accessToken)).toContain(world.secrets.tokens.accessToken);
  });
});

test('a new grant is stored after an unreadable value', async () => {
  const world = new Simulation();
  // A person may have put any text into the secret.
  world.secrets.place(FIRST_VERSION, 'not what it should be' as unknown as Tokens);
  expect(await world.one()).toMatchObject({ name: 'ConfigInvalid' });

  await world.authorized();

  expect(world.secrets.currentVersionId).toBe(successorOf(FIRST_VERSION));
  await world.serves(5, 0);
});

test('a new grant is the successor of the stored one even if the label is missing', async () => {
  const world = new Simulation();
  await world.authorized();
  const before = world.secrets.currentVersionId;
  const { store, ledger } = world.places();
  const blind = { ...store, currentVersionId: async () => undefined };

  await world.clock.run(storeGrant(world.endpoint.grant(), { store: blind, ledger, sleep: world.clock.sleep }));

  expect(world.secrets.currentVersionId).toBe(successorOf(before));
});

describe('the numbers of authorizations', () => {
  const numbered = (world: Simulation, authorization: number) => ({ ...world.endpoint.grant(), authorization });

  test('prevent an older consent from replacing a newer one, even after a refresh', async () => {
    const world = expired();
    await world.clock.run(world.storeGrant(numbered(world, 2)));
    await world.ask([world.client()], { rejected: world.secrets.tokens.accessToken });
    const standing = world.secrets.tokens;
    expect(standing.authorization).toBe(2);

    const older = world.storeGrant(numbered(world, 1)).catch((error: Error) => error);

    const refused = await world.clock.run(older);
    expect(refused).toMatchObject({ exitCode: 1 });
    await expectTexts('older-authorization', [['an older consent', String(refused)]]);
    expect(world.secrets.tokens).toEqual(standing);
    await world.pass(100_000);
    await world.serves(3, 1);
  });

  test('are compared even if Secrets Manager throttles the read under the claim', async () => {
    const world = expired();
    await world.clock.run(world.storeGrant(numbered(world, 2)));
    const standing = world.secrets.tokens;
    let isClaimed = false;
    world.ledger.trouble = () => {
      isClaimed = true;
      return undefined;
    };
    world.secrets.trouble = (operation) =>
      isClaimed && operation === 'GetSecretValue' ? awsError('ThrottlingException') : undefined;

    const older = world.storeGrant(numbered(world, 1)).catch((error: Error) => error);

    expect(await world.clock.run(older)).toMatchObject({ name: 'TokenStoreUnavailable' });
    expect(world.secrets.tokens).toEqual(standing);
  });

  test('leave a dead grant dead if they refuse a new one', async () => {
    const { world } = await withdrawn({ authorization: 5 });

    await world.clock.run(world.storeGrant(numbered(world, 4)).catch(() => undefined));
    await world.pass(100_000);

    expect(await world.one()).toMatchObject({ name: 'ReauthorizationRequired' });
  });

  test('are unique, and not below the required minimum', async () => {
    const world = new Simulation();
    const { ledger } = world.places();
    const take = (...least: number[]) => world.clock.run(Promise.all(least.map((each) => ledger.takeNumber(each))));

    expect([...(await take(1)), ...(await take(1))]).toEqual([1, 2]);
    const many = await take(7, 7, 7);
    expect(new Set(many).size).toBe(3);
    expect(Math.min(...many)).toBeGreaterThanOrEqual(7);
  });
});
