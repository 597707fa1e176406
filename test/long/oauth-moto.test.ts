import { ListSecretVersionIdsCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { storeGrant } from '../../cli/access/store-grant.ts';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { type Tokens, writeSecret } from '../../core/oauth/secrets.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { functionAt, makePlaces } from '../e2e/support/grant-places.ts';
import { deployment } from '../support/builders.ts';
import { startMoto } from './support/moto.ts';

/**
 * Tests the storage of the grant where a secret's version is written once, as on AWS. MiniStack overwrites a version
 * that is stored again with other content, moves the labels if the content is the same, drops unlabelled versions at
 * once, and returns an empty text for a secret without a value. So these cases run on moto.
 *
 * moto also differs from AWS, but not in the calls of this test: it overwrites a version with AWSPENDING, loses custom
 * labels, returns the former version after a manual move of a label (the product does none of these), never throttles,
 * has no limit of versions, and is never stale. AWS does not document whether one of many simultaneous writers wins.
 * The ledger allows only one writer; this is the second safeguard.
 */

let moto: Awaited<ReturnType<typeof startMoto>>;
let sandbox: Sandbox;
let at: Awaited<ReturnType<typeof makePlaces>>;

beforeAll(async () => {
  moto = await startMoto();
});
afterAll(() => moto?.close());
beforeEach(async () => {
  sandbox = await startSandbox();
  at = await makePlaces(moto.endpoint);
  await writeSecret(at.secrets, at.ClientSecretId, sandbox);
});
afterEach(() => sandbox?.close());

/** A grant of the sandbox, with this much life left. */
function newGrant(lifeLeftSeconds: number): Tokens {
  const { accessToken, refreshToken } = sandbox.issueTokens();
  const time = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  const times = { expiresAt: time(lifeLeftSeconds), obtainedAt: time(lifeLeftSeconds - 3600), earlierObtainedAt: [] };
  return { accessToken, refreshToken, ...times, scope: 'global:export' };
}

function crm() {
  return deployment({ crm: { baseUrl: sandbox.baseUrl, authUrl: sandbox.authUrl } }).crm;
}

/** VersionId and labels of all versions of the tokens. */
async function versions(): Promise<Record<string, string[]>> {
  const list = new ListSecretVersionIdsCommand({ SecretId: at.TokensSecretId, IncludeDeprecated: true });
  const { Versions = [] } = await at.secrets.send(list);
  return Object.fromEntries(Versions.map(({ VersionId = '', VersionStages = [] }) => [VersionId, VersionStages]));
}

test('one of fifty writers of one successor stores it', async () => {
  const { versionId } = await storeGrant(newGrant(-1), at);
  const contents = Array.from({ length: 50 }, () => newGrant(3000));

  const stored = await Promise.all(contents.map((tokens) => at.store.store(successorOf(versionId), tokens)));

  expect(stored.filter(Boolean)).toHaveLength(1);
  expect((await at.store.current()).tokens).toEqual(contents[stored.indexOf(true)]);
});

test('storing a successor twice with the same content makes one version and keeps the labels', async () => {
  const { versionId } = await storeGrant(newGrant(-1), at);
  const tokens = newGrant(3000);

  expect(await at.store.store(successorOf(versionId), tokens)).toBe(true);
  const once = await versions();
  expect(await at.store.store(successorOf(versionId), tokens)).toBe(true);

  expect(once).toEqual({ [successorOf(versionId)]: ['AWSCURRENT'], [versionId]: ['AWSPREVIOUS'] });
  expect(await versions()).toEqual(once);
});

test('stores the first grant in a secret that has no value yet', async () => {
  await expect(functionAt(at, crm())()).rejects.toMatchObject({ name: 'ConfigInvalid' });

  const { versionId } = await storeGrant(newGrant(3000), at);

  expect(versionId).toBe(successorOf(BEFORE_THE_FIRST));
  expect(await functionAt(at, crm())()).toMatchObject({ accessToken: (await at.store.current()).tokens.accessToken });
});
