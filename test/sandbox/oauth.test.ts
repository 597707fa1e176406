import { expect, test } from 'vitest';
import { answerConsent } from '../../sandbox/approve.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { apiOf, authorizeUrl, CALLBACK, consentCode, exchange, refresh, sandboxFor } from './client.ts';

async function accepts(sandbox: Sandbox, accessToken: string): Promise<boolean> {
  return (await apiOf(sandbox, accessToken)('GET', '/leads/fields')).ok;
}

test('Allow redirects with code, state and issuer, and the code gives the scopes', async () => {
  const sandbox = await sandboxFor({ accessTokenSeconds: 120 });
  const { origin, pathname, searchParams } = await answerConsent(authorizeUrl(sandbox), 'allow');
  expect(`${origin}${pathname}`).toBe(CALLBACK);
  expect(Object.fromEntries(searchParams)).toMatchObject({ state: 'a state', iss: sandbox.authUrl });
  const { status, body } = await exchange(sandbox, searchParams.get('code') ?? '');
  expect({ status, ...body }).toMatchObject({ status: 200, expires_in: 120, scope: 'openid global:export' });
});

test.each([
  [{ scope: 'openid everything' }, 302],
  [{ code_challenge_method: 'plain' }, 302],
  [{ client_id: 'somebody' }, 400],
  [{ redirect_uri: 'https://crm.example/callback' }, 400],
] as [Record<string, string>, number][])('an authorization request with %j gets %i', async (change, status) => {
  const answer = await fetch(authorizeUrl(await sandboxFor(), change), { redirect: 'manual' });
  expect([answer.status, answer.headers.has('location')]).toEqual([status, status === 302]);
});

test.each<Record<string, string>>([
  { code_verifier: 'x'.repeat(43) },
  { redirect_uri: 'http://127.0.0.1:9/other' },
  { code: 'unknown' },
])('an exchange that does not match its consent is an invalid grant: %j', async (change) => {
  const sandbox = await sandboxFor();
  expect((await exchange(sandbox, await consentCode(sandbox), change)).body.error).toBe('invalid_grant');
});

test('a code that is used twice revokes its tokens, and is recorded as a violation', async () => {
  const sandbox = await sandboxFor();
  const code = await consentCode(sandbox);
  const { body } = await exchange(sandbox, code);
  expect((await exchange(sandbox, code)).body.error).toBe('invalid_grant');
  expect(await accepts(sandbox, body.access_token)).toBe(false);
  expect(sandbox.ledger.violations()).toMatchObject([{ kind: 'token', reuse: true }]);
});

test('a refresh keeps the old access token, and reusing a refresh token revokes all', async () => {
  const sandbox = await sandboxFor();
  const first = sandbox.issueTokens();
  const { body: second } = await refresh(sandbox, first.refreshToken);
  expect(await accepts(sandbox, first.accessToken)).toBe(true);
  expect((await refresh(sandbox, first.refreshToken)).body.error).toBe('invalid_grant');
  expect((await refresh(sandbox, second.refresh_token)).body.error).toBe('invalid_grant');
  expect(await accepts(sandbox, second.access_token)).toBe(false);
  expect(sandbox.ledger.violations()).toHaveLength(1);
});

const CLIENT = { clientId: 'me & you', clientSecret: 'p+ä:%' };
const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const ENCODED = basic('me+%26+you:p%2B%C3%A4%3A%25');
const RAW = basic(`${CLIENT.clientId}:${CLIENT.clientSecret}`);
const POST = { client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret };

test.each([
  ['basic', {}, ENCODED, true],
  ['basic', {}, RAW, false],
  ['basic_raw', {}, RAW, true],
  ['post', POST, {}, true],
  ['post', { ...POST, client_secret: 'wrong' }, {}, false],
  ['none', { client_id: CLIENT.clientId }, {}, true],
] as const)('with client authentication "%s", %j with %j is accepted: %s', async (way, form, headers, passes) => {
  const sandbox = await sandboxFor({ ...CLIENT, clientAuthentication: [way] });
  const { refreshToken } = sandbox.issueTokens();
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, ...form });
  const answer = await fetch(`${sandbox.authUrl}/oauth/token`, { method: 'POST', body, headers: { ...headers } });
  expect(answer.status).toBe(passes ? 200 : 401);
});
