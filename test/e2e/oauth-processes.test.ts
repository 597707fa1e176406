import { afterAll, beforeAll, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/generation.ts';
import { startOAuthCloud } from '../oauth/support/oauth-cloud.ts';

/**
 * What the simulations prove, again with processes, real calls of secrets and table, and a real authorization server.
 * Greater crowds are in `test/long/oauth-crowds.test.ts`. What needs versions of a secret that are made once is in oauth-moto.test.ts: MiniStack overwrites them.
 */

let cloud: Awaited<ReturnType<typeof startOAuthCloud>>;
beforeAll(async () => {
  cloud = await startOAuthCloud();
});
afterAll(() => cloud?.close());

/** The refreshes of the authorization server during an action. */
async function refreshesOf<T>(action: () => Promise<T>) {
  const before = cloud.refreshes();
  const value = await action();
  const { calls, reuses } = cloud.refreshes();
  return { value, calls: calls - before.calls, reuses: reuses - before.reuses };
}

test('10 processes of 5 clients each on an expired token make one token call', async () => {
  const [processes, clients] = [10, 5];
  const grant = await cloud.grant(-1);
  const { versionId } = await grant.current();

  const { value, ...refreshes } = await refreshesOf(() => cloud.ask(processes, { ...grant.job, clients }));

  const current = await grant.current();
  expect(refreshes).toEqual({ calls: 1, reuses: 0 });
  expect(value.answers).toEqual(Array(processes * clients).fill({ accessToken: current.tokens.accessToken }));
  // Each client has a module instance of its own, and reads for itself.
  expect(value.labelReads).toBeGreaterThanOrEqual(processes * clients);
  expect(current.versionId).toBe(successorOf(versionId));
  expect(await grant.ledger.read(versionId)).toMatchObject({ state: 'STORED' });
});

test('10 processes of 5 clients on a valid token read it, and nothing else happens', async () => {
  const grant = await cloud.grant(3000);
  const { versionId, tokens } = await grant.current();

  const { value, calls } = await refreshesOf(() => cloud.ask(10, { ...grant.job, clients: 5 }));

  expect(value.answers).toEqual(Array(50).fill({ accessToken: tokens.accessToken }));
  expect(value.labelReads).toBe(50);
  expect(calls).toBe(0);
  expect(await grant.ledger.read(versionId)).toBeUndefined();
});

test('three generations, one after the other, for 6 processes of 5 clients cost three calls', async () => {
  const grant = await cloud.grant(3000);
  const versions = new Set<string>();

  const { calls, reuses } = await refreshesOf(async () => {
    for (let generation = 0; generation < 3; generation += 1) {
      const rejected = (await grant.current()).tokens.accessToken;
      const { answers } = await cloud.ask(6, { ...grant.job, clients: 5, scale: 5, rejected });
      const { versionId, tokens } = await grant.current();
      expect(answers).toEqual(Array(30).fill({ accessToken: tokens.accessToken }));
      versions.add(versionId);
    }
  });

  expect({ calls, reuses, versions: versions.size }).toEqual({ calls: 3, reuses: 0, versions: 3 });
});

test.each([3, 10, 60])('reads of the label that are %i seconds late cost no call', async (seconds) => {
  const grant = await cloud.grant(-1);
  const generation = await grant.current();
  const stale = { generation, forMs: seconds * 1000 };
  const job = { ...grant.job, clients: 5, scale: 10 };

  const { value, ...refreshes } = await refreshesOf(async () => [
    ...(await cloud.ask(6, { ...job, stale })).answers,
    ...(await cloud.ask(6, { ...job, stale })).answers,
  ]);

  expect(refreshes).toEqual({ calls: 1, reuses: 0 });
  expect(value).toEqual(Array(60).fill({ accessToken: (await grant.current()).tokens.accessToken }));
});

test.each([
  ['strict', { calls: 2, reuses: 1 }, 'ReauthorizationRequired'],
  ['none', { calls: 2, reuses: 0 }, undefined],
  [{ graceSeconds: 60 }, { calls: 2, reuses: 0 }, undefined],
] as const)('a lost answer of a server with rotation %j', async (rotation, expected, name) => {
  const grant = await cloud.grant(-1);
  cloud.sandbox.settings.rotation = rotation;
  cloud.sandbox.faults.add({ path: 'token', calls: [1], reset: 'after' });

  const { value, ...refreshes } = await refreshesOf(() => cloud.ask(6, { ...grant.job, clients: 5 }));

  cloud.sandbox.settings.rotation = 'strict';
  cloud.sandbox.faults.clear();
  expect(refreshes).toEqual(expected);
  const { accessToken } = (await grant.current()).tokens;
  expect(value.answers).toEqual(Array(30).fill(name ? expect.objectContaining({ name }) : { accessToken }));
  if (name) {
    await grant.storeAgain();
    const again = await cloud.ask(6, { ...grant.job, clients: 5 });
    expect(again.answers).toEqual(Array(30).fill({ accessToken: (await grant.current()).tokens.accessToken }));
  }
});

test('no token that was ever issued is in the ledger, in a log, or in an error', async () => {
  expect(cloud.issued.size).toBeGreaterThan(20);

  for (const [place, text] of Object.entries(await cloud.places())) {
    const leaked = [...cloud.issued].filter((token) => text.includes(token));
    expect(leaked.length, place).toBe(0);
  }
});
