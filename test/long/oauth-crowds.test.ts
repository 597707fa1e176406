import { afterAll, beforeAll, expect, test } from 'vitest';
import { successorOf } from '../../core/oauth/generation.ts';
import { startOAuthCloud } from '../oauth/support/oauth-cloud.ts';

/** The crowds of processes: what a few prove in `test/e2e/oauth-processes.test.ts`, with as many as a bad night may have. */

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

test.each([
  [20, 15],
  [20, 50],
])('%i processes of %i clients each on an expired token make one token call', async (processes, clients) => {
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

test('twenty generations, one after the other, for 6 processes of 5 clients cost twenty calls', async () => {
  const grant = await cloud.grant(3000);
  const versions = new Set<string>();

  const { calls, reuses } = await refreshesOf(async () => {
    for (let generation = 0; generation < 20; generation += 1) {
      const rejected = (await grant.current()).tokens.accessToken;
      const { answers } = await cloud.ask(6, { ...grant.job, clients: 5, scale: 5, rejected });
      const { versionId, tokens } = await grant.current();
      expect(answers).toEqual(Array(30).fill({ accessToken: tokens.accessToken }));
      versions.add(versionId);
    }
  });

  expect({ calls, reuses, versions: versions.size }).toEqual({ calls: 20, reuses: 0, versions: 20 });
});
