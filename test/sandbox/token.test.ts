import { expect, test } from 'vitest';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { apiOf, refresh, sandboxFor } from './client.ts';

async function accepts(sandbox: Sandbox, accessToken: string): Promise<boolean> {
  return (await apiOf(sandbox, accessToken)('GET', '/leads/fields')).ok;
}

function basic(id: string, secret: string): { Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}

test('strict: each refresh token is replaced, and both access tokens stay valid', async () => {
  const sandbox = await sandboxFor();
  const first = sandbox.issueTokens();
  const { body } = await refresh(sandbox, first.refreshToken);
  expect(body.refresh_token).not.toBe(first.refreshToken);
  expect(await accepts(sandbox, first.accessToken)).toBe(true);
  expect(await accepts(sandbox, body.access_token)).toBe(true);
});

test('strict: a second use of a refresh token revokes the whole family, access tokens included', async () => {
  const sandbox = await sandboxFor();
  const first = sandbox.issueTokens();
  const { body: second } = await refresh(sandbox, first.refreshToken);
  const { body: third } = await refresh(sandbox, second.refresh_token);
  for (const used of [first.refreshToken, second.refresh_token]) {
    expect((await refresh(sandbox, used)).body.error).toBe('invalid_grant');
  }
  expect((await refresh(sandbox, third.refresh_token)).body.error).toBe('invalid_grant');
  expect(await accepts(sandbox, third.access_token)).toBe(false);
  expect(sandbox.ledger.calls({ kind: 'token' }).map(({ reuse }) => reuse)).toEqual([false, false, true, true, false]);
  expect(sandbox.ledger.violations()).toHaveLength(2);
});

test('grace: a second use is fine within the grace and revokes after it', async () => {
  const sandbox = await sandboxFor({ rotation: { graceSeconds: 10 } });
  const { refreshToken } = sandbox.issueTokens();
  await refresh(sandbox, refreshToken);
  sandbox.clock.advance(9);
  expect((await refresh(sandbox, refreshToken)).status).toBe(200);
  expect(sandbox.ledger.violations()).toEqual([]);
  sandbox.clock.advance(2);
  expect((await refresh(sandbox, refreshToken)).body.error).toBe('invalid_grant');
});

test('none: the same refresh token stays valid', async () => {
  const sandbox = await sandboxFor({ rotation: 'none' });
  const { refreshToken } = sandbox.issueTokens();
  expect((await refresh(sandbox, refreshToken)).body.refresh_token).toBe(refreshToken);
  expect((await refresh(sandbox, refreshToken)).status).toBe(200);
  expect(sandbox.ledger.violations()).toEqual([]);
});

test('a refresh may narrow the scopes and never widen them', async () => {
  const sandbox = await sandboxFor();
  const { refreshToken } = sandbox.issueTokens({ scopes: ['openid', 'global:export'] });
  expect((await refresh(sandbox, refreshToken, { scope: 'customers:update' })).body.error).toBe('invalid_scope');
  const { body } = await refresh(sandbox, refreshToken, { scope: 'openid' });
  expect(body.scope).toBe('openid');
  expect(await accepts(sandbox, body.access_token)).toBe(false);
});

const CLIENT = { clientId: 'me & you', clientSecret: 'p+ä:%' };
const ENCODED = basic('me+%26+you', 'p%2B%C3%A4%3A%25');
const RAW = basic(CLIENT.clientId, CLIENT.clientSecret);
const POST = { client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret };

test.each([
  ['basic', {}, ENCODED, true],
  ['basic', {}, RAW, false],
  ['basic_raw', {}, RAW, true],
  ['basic_raw', {}, ENCODED, false],
  ['post', POST, {}, true],
  ['post', { ...POST, client_secret: 'wrong' }, {}, false],
  ['post', {}, ENCODED, false],
  ['none', { client_id: CLIENT.clientId }, {}, true],
  ['basic', { client_id: CLIENT.clientId }, {}, false],
] as const)('where %s is accepted, %j with %j passes: %s', async (way, form, headers, passes) => {
  const sandbox = await sandboxFor({ ...CLIENT, clientAuthentication: [way] });
  const { refreshToken } = sandbox.issueTokens();
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, ...form });
  const answer = await fetch(`${sandbox.authUrl}/oauth/token`, { method: 'POST', body, headers: { ...headers } });
  expect(answer.status).toBe(passes ? 200 : 401);
  expect(answer.headers.has('www-authenticate')).toBe(!passes && 'Authorization' in headers);
});

test.each([
  [['openid', 'customers:update'], 'GET', '/leads/fields', 'global:export'],
  [['global:export'], 'PATCH', '/customers/00000000-0000-4000-8000-000000000000', 'customers:update'],
])('with %j, %s %s answers 403 and names the scope %s', async (scopes, method, path, missing) => {
  const sandbox = await sandboxFor();
  const answer = await apiOf(sandbox, sandbox.issueTokens({ scopes }).accessToken)(method, path);
  expect(answer.status).toBe(403);
  expect(answer.headers.get('www-authenticate')).toContain(`scope="${missing}"`);
  expect(await answer.text()).toContain(missing);
});
