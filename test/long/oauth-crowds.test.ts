import { afterAll, beforeAll, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/grant.ts';
import { startOAuthCloud } from '../oauth/support/oauth-cloud.ts';

/**
 * Repeats the simulations of test/oauth with processes, real calls to secrets and table, and a real authorization
 * server. `test/long/oauth-moto.test.ts` covers versions that are written once.
 */

let cloud: Awaited<ReturnType<typeof startOAuthCloud>>;
beforeAll(async () => {
  cloud = await startOAuthCloud();
});
afterAll(() => cloud?.close());

/** The number of refreshes at the authorization server during an action. */
async function refreshesOf<T>(action: () => Promise<T>) {
  const before = cloud.refreshes();
  const value = await action();
  const { calls, reuses } = cloud.refreshes();
  return { value, calls: calls - before.calls, reuses: reuses - before.reuses };
}

test.each([
  [6, 8],
  [20, 15],
  [20, 50],
])('%i processes of %i clients each on an expired token make one token call', async (processes, clients) => {
  const grant = await cloud.grant(-1);
  const { versionId } = await grant.current();

  const { value, ...refreshes } = await refreshesOf(() => cloud.ask(processes, { ...grant.job, clients }));

  const current = await grant.current();
  expect(refreshes).toEqual({ calls: 1, reuses: 0 });
  expect(value).toEqual(Array(processes * clients).fill({ accessToken: current.tokens.accessToken }));
  expect(current.versionId).toBe(successorOf(versionId));
  expect(await grant.ledger.read(versionId)).toMatchObject({ state: 'STORED' });
});

test('20 token sets, one after the other, for 6 processes of 5 clients cost 20 calls', async () => {
  const grant = await cloud.grant(3000);
  const versions = new Set<string>();

  const { calls, reuses } = await refreshesOf(async () => {
    for (let tokenSet = 0; tokenSet < 20; tokenSet += 1) {
      const rejected = (await grant.current()).tokens.accessToken;
      const answers = await cloud.ask(6, { ...grant.job, clients: 5, scale: 5, rejected });
      const { versionId, tokens } = await grant.current();
      expect(answers).toEqual(Array(30).fill({ accessToken: tokens.accessToken }));
      versions.add(versionId);
    }
  });

  expect({ calls, reuses, versions: versions.size }).toEqual({ calls: 20, reuses: 0, versions: 20 });
});

test('no token that was ever issued is in the ledger, in a log, or in an error', async () => {
  expect(cloud.issued.size).toBeGreaterThan(20);

  for (const [place, text] of Object.entries(await cloud.places())) {
    const leaked = [...cloud.issued].filter((token) => text.includes(token));
    expect(leaked.length, place).toBe(0);
  }
});
