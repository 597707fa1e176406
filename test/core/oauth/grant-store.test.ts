import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import { createGrantStore, successorOf } from '../../../core/oauth/grant.ts';
import { FakeSecrets } from '../../oauth/support/fake-secrets.ts';
import { servedOnLoopback } from '../../support/loopback.ts';

const TOKENS = {
  refreshToken: 'r1',
  accessToken: 'a1',
  expiresAt: null,
  obtainedAt: '2026-11-20T01:00:00.000Z',
  scope: 'openid',
  earlierObtainedAt: [],
};
const FIRST = 'generation-1-with-its-thirty-two-chars';

function fakeStore() {
  const secrets = new FakeSecrets(
    () => new Date(),
    async () => undefined,
  );
  return { secrets, store: createGrantStore(secrets.client, 'tokens') };
}

test('a stored token set is current, and is found under its version id', async () => {
  const { store } = fakeStore();

  expect(await store.store(FIRST, TOKENS)).toBe(true);

  expect(await store.current()).toEqual({ versionId: FIRST, tokens: TOKENS });
  expect(await store.version(FIRST)).toEqual({ versionId: FIRST, tokens: TOKENS });
  expect(await store.version(successorOf(FIRST))).toBeUndefined();
  expect(await store.currentVersionId()).toBe(FIRST);
});

test('store accepts the same text again, and refuses another text for the same version', async () => {
  const { store, secrets } = fakeStore();
  await store.store(FIRST, TOKENS);

  expect(await store.store(FIRST, TOKENS)).toBe(true);
  expect(await store.store(FIRST, { ...TOKENS, accessToken: 'a2' })).toBe(false);

  expect(secrets.versions.size).toBe(1);
  expect(secrets.tokens).toEqual(TOKENS);
});

test('an empty secret has no current version, and reading its tokens throws ConfigInvalid', async () => {
  const { store } = fakeStore();

  expect(await store.currentVersionId()).toBeUndefined();
  await expect(store.current()).rejects.toMatchObject({ name: 'ConfigInvalid' });
});

test('the SDK repeats a write whose answer is lost, and only one version is stored', async () => {
  const versions = new Map<string, string>();
  const tokens: string[] = [];
  const endpoint = await servedOnLoopback((_, body, response) => {
    const { ClientRequestToken, SecretString } = JSON.parse(String(body)) as Record<string, string>;
    tokens.push(ClientRequestToken ?? '');
    versions.set(ClientRequestToken ?? '', SecretString ?? '');
    if (tokens.length === 1) return response.destroy();
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
    return response.end(JSON.stringify({ VersionId: ClientRequestToken }));
  });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new SecretsManagerClient({ endpoint, region: 'eu-west-1', credentials });

  expect(await createGrantStore(client, 'tokens').store(FIRST, TOKENS)).toBe(true);

  expect(tokens).toEqual([FIRST, FIRST]);
  expect([...versions]).toEqual([[FIRST, JSON.stringify(TOKENS)]]);
});

test('an aborted write ends with TokenStoreUnavailable, and the SDK does not repeat it', async () => {
  let requests = 0;
  const abort = new AbortController();
  const endpoint = await servedOnLoopback(() => {
    requests += 1;
    abort.abort();
  });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new SecretsManagerClient({ endpoint, region: 'eu-west-1', credentials });

  const storing = createGrantStore(client, 'tokens').store(FIRST, TOKENS, abort.signal);

  await expect(storing).rejects.toMatchObject({ name: 'TokenStoreUnavailable', transient: true });
  expect(requests).toBe(1);
});
