import { expect, test } from 'vitest';
import { oauthCrowds } from '../oauth/support/crowds.ts';

/**
 * Repeats the simulations with processes, real calls to secrets and table, and a real authorization server.
 * `test/long/oauth-crowds.test.ts` has larger crowds. test/long/oauth-moto.test.ts covers versions that are written once.
 */

const { cloud, refreshesOf, testOnExpiredToken, testTokenSets, testNothingLeaked } = oauthCrowds();

testOnExpiredToken([[6, 8]]);

test('6 processes of 8 clients read a valid token without a refresh or a claim', async () => {
  const grant = await cloud().grant(3000);
  const { versionId, tokens } = await grant.current();

  const { value, calls } = await refreshesOf(() => cloud().ask(6, { ...grant.job, clients: 8 }));

  expect(value.answers).toEqual(Array(48).fill({ accessToken: tokens.accessToken }));
  expect(value.labelReads).toBe(48);
  expect(calls).toBe(0);
  expect(await grant.ledger.read(versionId)).toBeUndefined();
});

testTokenSets(3);

test.each([3, 10, 60])('reads of a label that is %i seconds stale cause no further refresh', async (seconds) => {
  const grant = await cloud().grant(-1);
  const tokenSet = await grant.current();
  const stale = { tokenSet, forMs: seconds * 1000 };
  const job = { ...grant.job, clients: 5, scale: 10 };

  const { value, ...refreshes } = await refreshesOf(async () => [
    ...(await cloud().ask(6, { ...job, stale })).answers,
    ...(await cloud().ask(6, { ...job, stale })).answers,
  ]);

  expect(refreshes).toEqual({ calls: 1, reuses: 0 });
  expect(value).toEqual(Array(60).fill({ accessToken: (await grant.current()).tokens.accessToken }));
});

test.each([
  ['strict', { calls: 2, reuses: 1 }, 'ReauthorizationRequired'],
  ['none', { calls: 2, reuses: 0 }, undefined],
  [{ graceSeconds: 60 }, { calls: 2, reuses: 0 }, undefined],
] as const)('a lost answer of a server with rotation %j ends as predicted', async (rotation, expected, name) => {
  const grant = await cloud().grant(-1);
  cloud().sandbox.settings.rotation = rotation;
  cloud().sandbox.faults.add({ path: 'token', calls: [1], reset: 'after' });

  const { value, ...refreshes } = await refreshesOf(() => cloud().ask(6, { ...grant.job, clients: 5 }));

  cloud().sandbox.settings.rotation = 'strict';
  cloud().sandbox.faults.clear();
  expect(refreshes).toEqual(expected);
  const { accessToken } = (await grant.current()).tokens;
  expect(value.answers).toEqual(Array(30).fill(name ? expect.objectContaining({ name }) : { accessToken }));
  if (name) {
    await grant.storeAgain();
    const again = await cloud().ask(6, { ...grant.job, clients: 5 });
    expect(again.answers).toEqual(Array(30).fill({ accessToken: (await grant.current()).tokens.accessToken }));
  }
});

testNothingLeaked();
