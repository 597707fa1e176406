import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { authorize } from '../../cli/authorize.ts';
import { createGetAccessToken } from '../../lambdas/shared/oauth/access-token.ts';
import { tokensSchema } from '../../lambdas/shared/oauth/secrets.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { jsonServer, secretsAt, secretsServer } from './aws-server.ts';

type Options = Partial<Parameters<typeof authorize>[1]>;

/** A sandbox CRM, a Secrets Manager, and the authorization between them. */
async function setting(values: Record<string, string> = {}) {
  const sandbox = await startSandbox();
  onTestFinished(sandbox.close);
  const stored: Record<string, string | undefined> = { ...values };
  const { endpoint, calls } = await secretsServer(stored);
  const target = { secrets: secretsAt(endpoint), ClientSecretId: 'client', TokensSecretId: 'tokens' };
  const { clientId, clientSecret } = sandbox;
  const go = (options: Options = {}) =>
    authorize(target, { crm: crmOf(sandbox), clientId, clientSecret, onUrl: approveConsent, ...options });
  return { sandbox, stored, calls, target, go };
}

function crmOf({ baseUrl, authUrl }: Sandbox): Parameters<typeof authorize>[1]['crm'] {
  const fields = { operatorField: 'filtersOperator', emailField: 'sendEmail' };
  return { baseUrl, authUrl, scopes: ['openid', 'global:export'], clientAuthentication: 'basic', ...fields };
}

/** The browser of a person who presses Deny. */
async function deny(url: string): Promise<void> {
  const page = await (await fetch(url)).text();
  const transaction = /name="transaction" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const body = new URLSearchParams({ transaction, decision: 'deny' });
  const answer = await fetch(new URL('/auth/authorize', url), { method: 'POST', body, redirect: 'manual' });
  await fetch(answer.headers.get('location') ?? '');
}

test('client and tokens are stored, and nothing that is told holds a token', async () => {
  const { sandbox, stored, calls, go } = await setting();
  const told = JSON.stringify(await go());
  const { clientId, clientSecret } = sandbox;
  expect(JSON.parse(stored.client ?? '')).toEqual({ clientId, clientSecret });
  const tokens = tokensSchema.parse(JSON.parse(stored.tokens ?? ''));
  expect(tokens.scope).toBe('openid global:export');
  expect(JSON.parse(told)).toEqual({ secret: 'tokens', scope: tokens.scope, expiresAt: tokens.expiresAt });
  for (const secret of [tokens.accessToken, tokens.refreshToken, clientSecret]) expect(told).not.toContain(secret);
  expect(calls.map(({ operation, input }) => `${operation} ${input.SecretId}`)).toEqual([
    'PutSecretValue client',
    'PutSecretValue tokens',
  ]);
});

test('the address asks for a code with PKCE, a state of its own and a loopback callback', async () => {
  const { sandbox, go } = await setting();
  const urls: URL[] = [];
  const onUrl = (url: string) => {
    urls.push(new URL(url));
    return approveConsent(url);
  };
  await go({ onUrl });
  await go({ onUrl });
  const [first, second] = urls.map(({ searchParams }) => Object.fromEntries(searchParams));
  expect(first).toMatchObject({
    ...{ response_type: 'code', client_id: sandbox.clientId, scope: 'openid global:export' },
    ...{ code_challenge_method: 'S256', code_challenge: expect.stringMatching(/^[\w-]{43}$/) },
    ...{
      state: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\//),
    },
  });
  expect(first?.state).not.toBe(second?.state);
  expect(first?.code_challenge).not.toBe(second?.code_challenge);
  expect(sandbox.ledger.violations()).toEqual([]);
});

test('the stored client is used where none is given', async () => {
  const { go, sandbox } = await setting();
  await expect(go({ clientId: undefined })).rejects.toMatchObject({ name: 'ConfigInvalid' });
  const { clientId, clientSecret } = sandbox;
  const known = await setting({ client: JSON.stringify({ clientId, clientSecret }) });
  await known.go({ clientId: undefined, clientSecret: undefined });
  expect(known.stored.tokens).toBeDefined();
});

test('a client without its secret is a matter of usage', async () => {
  const { go, calls } = await setting();
  await expect(go({ clientSecret: '' })).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('CRM_CLIENT_SECRET'),
  });
  expect(calls).toEqual([]);
});

test('a person who denies is believed, and nothing is stored', async () => {
  const { go, calls } = await setting();
  await expect(go({ onUrl: deny })).rejects.toMatchObject({
    exitCode: 1,
    message: 'The service refused the authorization: access_denied.',
  });
  expect(calls).toEqual([]);
});

test('a wrong secret of the client is named as such, and nothing is stored', async () => {
  const { go, calls } = await setting();
  await expect(go({ clientSecret: 'not-the-secret' })).rejects.toMatchObject({
    name: 'ConfigInvalid',
    message: 'The token endpoint answered 401 invalid_client.',
  });
  expect(calls).toEqual([]);
});

test('a grant without a refresh token is refused, and nothing is stored', async () => {
  const { sandbox, go, calls } = await setting();
  const body = { access_token: 'only-for-an-hour', token_type: 'Bearer', expires_in: 3600 };
  sandbox.faults.add({ path: 'token', answer: { status: 200, body } });
  await expect(go()).rejects.toMatchObject({ name: 'ReauthorizationRequired' });
  expect(calls).toEqual([]);
});

test('scopes in the words of the service are told without what a terminal would obey', async () => {
  const { sandbox, go } = await setting();
  const body = { access_token: 'a', refresh_token: 'r', scope: 'openid\u001b[2J\u009b\n' };
  sandbox.faults.add({ path: 'token', answer: { status: 200, body } });
  expect(await go()).toMatchObject({ scope: 'openid[2J', expiresAt: null });
});

test('what goes wrong while the address is shown ends the authorization', async () => {
  const { go } = await setting();
  const onUrl = () => Promise.reject(new Error('no browser'));
  await expect(go({ onUrl })).rejects.toThrow('no browser');
});

test('an interruption ends the authorization', async () => {
  const { go } = await setting();
  const interrupt = new AbortController();
  const onUrl = () => interrupt.abort(new Error('enough'));
  await expect(go({ onUrl, signal: interrupt.signal })).rejects.toThrow('enough');
});

test('a refresh works after it and is stored before its access token is given out', async () => {
  const { sandbox, stored, calls, target, go } = await setting();
  await go();
  const before = tokensSchema.parse(JSON.parse(stored.tokens ?? ''));
  const getAccessToken = createGetAccessToken({
    ...{ secrets: target.secrets, clientSecretId: 'client', tokensSecretId: 'tokens', crm: crmOf(sandbox) },
    now: () => new Date(),
  });
  calls.length = 0;
  const { accessToken } = await getAccessToken({ rejected: before.accessToken });
  const after = tokensSchema.parse(JSON.parse(stored.tokens ?? ''));
  expect(after.accessToken).toBe(accessToken);
  expect(after.refreshToken).not.toBe(before.refreshToken);
  expect(calls.at(-1)).toMatchObject({ operation: 'PutSecretValue', input: { SecretId: 'tokens' } });
  const grants = sandbox.ledger.calls({ kind: 'token' });
  expect(grants.map(({ grantType }) => grantType)).toEqual(['authorization_code', 'refresh_token']);
  expect(grants[1]?.tokenFingerprint).toBe(createHash('sha256').update(before.refreshToken).digest('hex').slice(0, 8));
});

test('a refreshed token that cannot be stored is not given out', async () => {
  const { sandbox, stored, go } = await setting();
  await go();
  const { endpoint } = await jsonServer(({ operation, input }) =>
    operation === 'GetSecretValue'
      ? { output: { SecretString: stored[String(input.SecretId)] } }
      : { error: 'InternalServiceError', status: 500 },
  );
  const getAccessToken = createGetAccessToken({
    ...{ secrets: secretsAt(endpoint), clientSecretId: 'client', tokensSecretId: 'tokens', crm: crmOf(sandbox) },
    now: () => new Date(Date.now() + 86_400_000),
  });
  await expect(getAccessToken()).rejects.toMatchObject({ name: 'TokenStoreUnavailable' });
});
