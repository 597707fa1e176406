import { ListSecretVersionIdsCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { storeGrant } from '../../cli/access/store-grant.ts';
import { BEFORE_THE_FIRST, successorOf } from '../../core/oauth/grant.ts';
import { type Tokens, writeSecret } from '../../core/oauth/secrets.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { functionAt, makePlaces } from '../e2e/support/grant-places.ts';
import { deployment } from '../support/builders.ts';
import { startMoto } from './support/moto.ts';

/**
 * Tests the refresh of the grant where a secret's version is written once, as on AWS. MiniStack overwrites a version
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
  sandbox = await startSandbox({ rotation: 'strict' });
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

/** The answers of that many functions, each in its own container. */
function ask(clients: number): Promise<string[]> {
  const functions = Array.from({ length: clients }, () => functionAt(at, crm()));
  return Promise.all(functions.map(async (getAccessToken) => (await getAccessToken()).accessToken));
}

/** A separate client of Secrets Manager, so that a test can change its calls. */
function secretsClient(): SecretsManagerClient {
  const { region, credentials } = at.secrets.config;
  return new SecretsManagerClient({ endpoint: moto.endpoint, region, credentials });
}

function functionWith(secrets: SecretsManagerClient, count?: (event: string) => void) {
  return functionAt({ target: { ...at.target, secrets } }, crm(), count);
}

/** A function whose refresh is interrupted by an action between the CRM's answer and its storage. */
function interrupted(meanwhile: () => Promise<unknown>, count: (event: string) => void) {
  const secrets = secretsClient();
  secrets.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName === 'PutSecretValueCommand') await meanwhile();
        return next(args);
      },
    { step: 'initialize' },
  );
  return functionWith(secrets, count);
}

/** A function that reads a former version for the label. */
function stale(VersionId: string) {
  const secrets = secretsClient();
  secrets.middlewareStack.add(
    (next) => (args) =>
      next('VersionStage' in args.input ? { ...args, input: { SecretId: at.TokensSecretId, VersionId } } : args),
    { step: 'initialize' },
  );
  return functionWith(secrets);
}

function refreshes() {
  const calls = sandbox.ledger.calls({ kind: 'token' });
  return { calls: calls.length, reuses: calls.filter(({ reuse }) => reuse).length };
}

/** VersionId and labels of all versions of the tokens. */
async function versions(): Promise<Record<string, string[]>> {
  const list = new ListSecretVersionIdsCommand({ SecretId: at.TokensSecretId, IncludeDeprecated: true });
  const { Versions = [] } = await at.secrets.send(list);
  return Object.fromEntries(Versions.map(({ VersionId = '', VersionStages = [] }) => [VersionId, VersionStages]));
}

test('uses the successor that another writer stored, and does not change it', async () => {
  const { versionId } = await storeGrant(newGrant(-1), at);
  const others = newGrant(3000);
  const counted: string[] = [];
  const client = interrupted(
    () => at.store.store(successorOf(versionId), others),
    (event) => counted.push(event),
  );

  expect((await client()).accessToken).toBe(others.accessToken);

  // The CRM answered this client with new tokens, which the secret refused: they are no version of it.
  expect(refreshes()).toEqual({ calls: 1, reuses: 0 });
  expect(counted).toEqual([]);
  expect(await at.store.current()).toEqual({ versionId: successorOf(versionId), tokens: others });
  expect(await at.ledger.read(versionId)).toMatchObject({ state: 'STORED' });
  expect(await ask(20)).toEqual(Array(20).fill(others.accessToken));
  expect(refreshes()).toEqual({ calls: 1, reuses: 0 });
});

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

test('fifty clients on an expired token make one token call', async () => {
  const { versionId } = await storeGrant(newGrant(-1), at);

  const answers = await ask(50);

  const { tokens, versionId: current } = await at.store.current();
  expect(answers).toEqual(Array(50).fill(tokens.accessToken));
  expect(refreshes()).toEqual({ calls: 1, reuses: 0 });
  expect(current).toBe(successorOf(versionId));
  expect(Object.keys(await versions())).toHaveLength(2);
});

test('a read of a label that is three token sets old finds the newest without a token call', async () => {
  const old = await storeGrant(newGrant(-1), at);
  for (const lifeLeft of [-1, -1, 3000]) await storeGrant(newGrant(lifeLeft), at);
  const { tokens } = await at.store.current();

  expect(await at.store.version(old.versionId)).toEqual(old);
  expect((await stale(old.versionId)()).accessToken).toBe(tokens.accessToken);

  expect(refreshes()).toEqual({ calls: 0, reuses: 0 });
});

test('stores the first grant in a secret that has no value yet', async () => {
  await expect(functionAt(at, crm())()).rejects.toMatchObject({ name: 'ConfigInvalid' });

  const { versionId } = await storeGrant(newGrant(3000), at);

  expect(versionId).toBe(successorOf(BEFORE_THE_FIRST));
  expect(await ask(1)).toEqual([(await at.store.current()).tokens.accessToken]);
});
