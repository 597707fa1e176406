import { randomUUID } from 'node:crypto';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { expect, inject, onTestFinished, test } from 'vitest';
import { storeGrant } from '../../cli/access/store-grant.ts';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { GIVEN_BACK, LEASE_MS } from '../../core/oauth/ledger.ts';
import type { NewTokens } from '../../core/oauth/secrets.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { deployment } from '../support/builders.ts';
import { functionAt, type GrantPlaces, makePlaces } from './support/grant-places.ts';

/** Tests storing a new grant while functions refresh the old one. */

const cloud = inject('cloud');

async function setting() {
  const sandbox = await startSandbox();
  onTestFinished(sandbox.close);
  const places = await makePlaces(cloud.endpoint);
  const { clientId, clientSecret } = sandbox;
  const SecretString = JSON.stringify({ clientId, clientSecret });
  await places.secrets.send(new PutSecretValueCommand({ SecretId: places.ClientSecretId, SecretString }));
  const { crm } = deployment({ crm: { authUrl: sandbox.authUrl } });
  return { sandbox, places, crm };
}

function grantOf(sandbox: Sandbox, expiresInSeconds = 3600): NewTokens {
  const { accessToken, refreshToken, scopes } = sandbox.issueTokens({ expiresInSeconds });
  const obtainedAt = new Date().toISOString();
  const expiresAt = new Date(Date.now() + expiresInSeconds * 1000).toISOString();
  return { accessToken, refreshToken, obtainedAt, expiresAt, scope: scopes.join(' ') };
}

/** A clock that advances by each sleep at once. */
function quickClock(onSleep: (time: number) => unknown = () => undefined) {
  let time = 0;
  const sleep = async (ms: number) => {
    time += ms;
    await onSleep(time);
  };
  return { elapsed: () => time, sleep, time: () => time };
}

const put = (places: GrantPlaces, SecretString: string) =>
  places.secrets.send(new PutSecretValueCommand({ SecretId: places.TokensSecretId, SecretString }));

test('replaces a dead token set at once, and fifty functions use the grant without a refresh', async () => {
  const { sandbox, places, crm } = await setting();
  const { store, ledger } = places;
  const { versionId } = await storeGrant(
    { ...grantOf(sandbox, -10), refreshToken: 'revoked-by-the-user' },
    { store, ledger },
  );
  await expect(functionAt(places, crm)()).rejects.toMatchObject({ name: 'ReauthorizationRequired' });
  expect(await ledger.read(versionId)).toMatchObject({ state: 'DEAD' });
  const calls = sandbox.ledger.calls({ kind: 'token' }).length;

  const clock = quickClock();
  const tokens = grantOf(sandbox);
  await storeGrant(tokens, { store, ledger, ...clock });

  expect(clock.time()).toBe(0);
  const given = await Promise.all(Array.from({ length: 50 }, () => functionAt(places, crm)()));
  expect(new Set(given.map(({ accessToken }) => accessToken))).toEqual(new Set([tokens.accessToken]));
  expect(sandbox.ledger.calls({ kind: 'token' })).toHaveLength(calls);
});

test('waits for a running refresh, and then stores the new grant as the newest', async () => {
  const { sandbox, places, crm } = await setting();
  const { store, ledger } = places;
  const first = await storeGrant(grantOf(sandbox, -10), { store, ledger });
  sandbox.faults.add({ path: 'token', calls: [1], delaySeconds: 0.7 });
  const refreshing = functionAt(places, crm)();
  let waited = 0;
  const claimed = async () => (await ledger.read(first.versionId))?.state === 'CLAIMED';
  await expect.poll(claimed).toBe(true);

  const tokens = grantOf(sandbox);
  const done = await storeGrant(tokens, { store, ledger, onWait: () => (waited += 1) });

  await refreshing;
  expect(waited).toBe(1);
  expect(done.versionId).toBe(successorOf(successorOf(first.versionId)));
  expect(await places.tokens()).toMatchObject(tokens);
  expect(await functionAt(places, crm)()).toMatchObject({ accessToken: tokens.accessToken });
  expect(sandbox.ledger.violations()).toEqual([]);
});

test('waits as long as a claim lasts by its own clock, for any deadline in the ledger', async () => {
  for (const holdersClock of [-300_000, 0, 300_000]) {
    const { sandbox, places } = await setting();
    const { store, ledger } = places;
    const { versionId } = await storeGrant(grantOf(sandbox, -10), { store, ledger });
    await ledger.claim(versionId, 'a function that died', Date.now() + holdersClock);
    const clock = quickClock();

    const done = await storeGrant(grantOf(sandbox), { store, ledger, ...clock });

    expect(clock.time()).toBeGreaterThan(LEASE_MS);
    expect(clock.time()).toBeLessThan(LEASE_MS + 3000);
    expect(done.versionId).toBe(successorOf(versionId));
  }
});

test('waits again if the claim changes hands, and not at all if it was given back', async () => {
  const { sandbox, places } = await setting();
  const { store, ledger } = places;
  const { versionId } = await storeGrant(grantOf(sandbox, -10), { store, ledger });
  await ledger.claim(versionId, 'the first', Date.now() - 100_000);
  const second = randomUUID();
  const clock = quickClock(async (time) => {
    if (time !== 40_000) return;
    const answer = await ledger.claim(versionId, second, Date.now());
    if (!answer.won) throw new Error('the second function did not win');
  });
  await storeGrant(grantOf(sandbox), { store, ledger, ...clock });
  expect(clock.time()).toBeGreaterThan(40_000 + LEASE_MS);

  const newest = await store.currentVersionId();
  const held = await ledger.claim(newest ?? '', 'a third', Date.now());
  if (!held.won) throw new Error('the third function did not win');
  await ledger.end(held.claim, GIVEN_BACK);
  const quick = quickClock();
  await storeGrant(grantOf(sandbox), { store, ledger, ...quick });
  expect(quick.time()).toBe(0);
});

test('a command killed while it holds the claim leaves a grant that a function can refresh later', async () => {
  const { sandbox, places, crm } = await setting();
  const { store, ledger } = places;
  const { versionId } = await storeGrant(grantOf(sandbox, -10), { store, ledger });
  const dies = { ...store, store: () => new Promise<never>(() => undefined) };
  const aMinuteAgo = () => Date.now() - 60_000;
  void storeGrant(grantOf(sandbox), { store: dies, ledger, now: aMinuteAgo });
  await expect.poll(async () => (await ledger.read(versionId))?.state).toBe('AUTHORIZED');

  const { accessToken } = await functionAt(places, crm)();

  expect(await places.tokens()).toMatchObject({ accessToken });
  expect(await ledger.read(versionId)).toMatchObject({ state: 'STORED' });
  expect(sandbox.ledger.calls({ kind: 'token' })).toHaveLength(1);
  expect(sandbox.ledger.violations()).toEqual([]);
});

test('stores two first authorizations at once one after the other', async () => {
  const { sandbox, places } = await setting();
  const { store, ledger } = places;
  const grants = [grantOf(sandbox), grantOf(sandbox)];

  const done = await Promise.all(grants.map((tokens) => storeGrant(tokens, { store, ledger })));

  const first = successorOf(BEFORE_THE_FIRST);
  expect(done.map(({ versionId }) => versionId).sort()).toEqual([first, successorOf(first)].sort());
  const last = done.find(({ versionId }) => versionId !== first);
  expect(await places.tokens()).toEqual(last?.tokens);
});

test('stores a grant after an unreadable value', async () => {
  const { sandbox, places, crm } = await setting();
  const { store, ledger } = places;
  await put(places, 'not what it should be');
  const before = (await store.currentVersionId()) ?? '';
  await expect(functionAt(places, crm)()).rejects.toMatchObject({ name: 'ConfigInvalid' });

  const done = await storeGrant(grantOf(sandbox), { store, ledger });
  expect(done.versionId).toBe(successorOf(before));

  const value = { SecretString: '{}', ClientRequestToken: successorOf(done.versionId) };
  await places.secrets.send(new PutSecretValueCommand({ SecretId: places.TokensSecretId, ...value }));
  const tokens = grantOf(sandbox);
  const after = await storeGrant(tokens, { store, ledger });
  expect(after.versionId).toBe(successorOf(successorOf(done.versionId)));
  expect(await functionAt(places, crm)()).toMatchObject({ accessToken: tokens.accessToken });
});

test('stores a grant as the successor of the stored one even if the label is missing', async () => {
  const { sandbox, places } = await setting();
  const { store, ledger } = places;
  const { versionId } = await storeGrant(grantOf(sandbox), { store, ledger });
  const blind = { ...store, currentVersionId: async () => undefined };

  const done = await storeGrant(grantOf(sandbox), { store: blind, ledger });

  expect(done.versionId).toBe(successorOf(versionId));
});
