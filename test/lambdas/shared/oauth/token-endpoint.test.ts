import { expect, test } from 'vitest';
import type { RunErrorName } from '../../../../lambdas/shared/errors.ts';
import { requestTokens } from '../../../../lambdas/shared/oauth/token-endpoint.ts';
import { CANARY, deployment } from '../../../support/builders.ts';
import { at } from '../../../support/deps.ts';
import { failureOf } from '../../../support/failures.ts';
import { cutOff, deadAddress, hangUp, type Reply, serverFor } from '../../../support/http-server.ts';

const LINE = 'POST /auth/oauth/token';
const CLIENT = { clientId: 'my client:1', clientSecret: `${CANARY}+/%ä` };
const GRANT = { grant_type: 'refresh_token' as const, refresh_token: `${CANARY}-old` };
const KNOWN = { refreshToken: 'r-old', scope: 'openid' };
const NOW = '2026-11-20T01:00:00.000Z';

async function tokensFrom(reply: Reply, how: 'basic' | 'basic_raw' | 'post' | 'none' = 'basic', known: object = KNOWN) {
  const server = await serverFor([LINE, reply]);
  const { crm } = deployment({ crm: { authUrl: `${server.url}/auth`, clientAuthentication: how } });
  const tokens = requestTokens(crm, CLIENT, GRANT, { scope: '', ...known }, at(NOW));
  return { tokens, seen: server.seen };
}

const answered = async (json: unknown, known?: object) => (await tokensFrom({ json }, 'basic', known)).tokens;
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

test.each([
  ['basic: id and secret are form-encoded first', 'basic', basic('my+client%3A1:c4n4ry-5ecret%2B%2F%25%C3%A4'), {}],
  ['basic_raw: id and secret as they are', 'basic_raw', basic(`my client:1:${CLIENT.clientSecret}`), {}],
  ['post: both in the form', 'post', undefined, { client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret }],
  ['none: the id in the form, and no secret anywhere', 'none', undefined, { client_id: CLIENT.clientId }],
] as const)('client authentication %s', async (_, how, authorization, form) => {
  const { tokens, seen } = await tokensFrom({ json: { access_token: 'a' } }, how);

  await tokens;

  expect(seen[0]?.headers.authorization).toBe(authorization);
  expect(seen[0]?.headers['content-type']).toContain('application/x-www-form-urlencoded');
  expect(Object.fromEntries(new URLSearchParams(seen[0]?.body))).toEqual({ ...GRANT, ...form });
});

test('a full answer becomes the grant to store', async () => {
  const json = {
    access_token: 'a',
    refresh_token: 'r',
    expires_in: 3600,
    scope: 'openid global:export',
    token_type: 'x',
  };

  expect(await answered(json)).toEqual({
    refreshToken: 'r',
    accessToken: 'a',
    expiresAt: '2026-11-20T02:00:00.000Z',
    obtainedAt: NOW,
    scope: 'openid global:export',
  });
});

test('what the answer does not say stays as it was: a server that does not rotate sends no refresh token', async () => {
  expect(await answered({ access_token: 'a' })).toMatchObject({ refreshToken: 'r-old', scope: 'openid' });
  expect(await answered({ access_token: 'a', refresh_token: null, scope: null })).toMatchObject({
    refreshToken: 'r-old',
    scope: 'openid',
  });
});

test.each<[string, unknown]>([
  ['missing', undefined],
  ['null', null],
  ['zero', 0],
  ['negative', -1],
  ['a word', 'never'],
  ['an object', {}],
  ['more than a date can hold', Number.MAX_SAFE_INTEGER],
])('an expires_in that is %s is unknown, not expired', async (_, expires_in) => {
  expect(await answered({ access_token: 'a', expires_in })).toMatchObject({ accessToken: 'a', expiresAt: null });
});

test('an expires_in that is a string of digits is read', async () => {
  expect(await answered({ access_token: 'a', expires_in: '60' })).toMatchObject({
    expiresAt: '2026-11-20T01:01:00.000Z',
  });
});

test('odd values beside the tokens do not lose what was rotated', async () => {
  expect(await answered({ access_token: 'a', refresh_token: 'r', scope: ['x'], expires_in: [] })).toMatchObject({
    refreshToken: 'r',
    scope: 'openid',
  });
});

test('a grant without any refresh token is of no use for the next night', async () => {
  await failureOf(answered({ access_token: 'a' }, { refreshToken: undefined }), 'ReauthorizationRequired');
});

test.each<[number, object, RunErrorName]>([
  [400, { error: 'invalid_grant', error_description: CANARY }, 'ReauthorizationRequired'],
  [400, { error: 'invalid_client' }, 'ConfigInvalid'],
  [401, { error: 'invalid_client' }, 'ConfigInvalid'],
  [400, { error: 'invalid_scope' }, 'ConfigInvalid'],
  [400, { error: 'unauthorized_client' }, 'ConfigInvalid'],
  [401, { message: CANARY }, 'ConfigInvalid'],
  [403, { message: CANARY }, 'ConfigInvalid'],
  [400, { error: CANARY }, 'CrmContractError'],
  [404, {}, 'CrmContractError'],
  [408, {}, 'CrmUnavailable'],
  [500, {}, 'CrmUnavailable'],
  [503, { error: CANARY }, 'CrmUnavailable'],
])('%i %j is %s', async (status, json, name) => {
  const { tokens } = await tokensFrom({ status, json });

  expect((await failureOf(tokens, name)).message).toContain(`answered ${status}`);
});

test.each<[number, RunErrorName]>([
  [429, 'RateLimited'],
  [503, 'CrmUnavailable'],
])('%i with a date in Retry-After is %s with the wait until then', async (status, name) => {
  const { tokens } = await tokensFrom({ status, headers: { 'retry-after': 'Fri, 20 Nov 2026 01:01:30 GMT' } });

  expect((await failureOf(tokens, name)).retryAfterSeconds).toBe(90);
});

test.each<[string, Reply, RunErrorName]>([
  ['a web page with status 200', { text: `<html>${CANARY}` }, 'CrmContractError'],
  ['an answer without an access token', { json: { token: CANARY } }, 'CrmContractError'],
  ['an access token that is empty', { json: { access_token: '' } }, 'CrmContractError'],
  ['a web page with status 502', { status: 502, text: `<html>${CANARY}` }, 'CrmUnavailable'],
  ['an answer that breaks off', cutOff(200, {}, `{"access_token":"${CANARY}`), 'CrmContractError'],
  ['no answer', hangUp, 'CrmUnavailable'],
])('%s is asked for once, because a refresh token can be spent once', async (_, reply, name) => {
  const { tokens } = await tokensFrom(reply);

  await failureOf(tokens, name);
});

test('a redirect is not followed: it would carry the client secret elsewhere', async () => {
  const elsewhere = await serverFor();
  const { tokens } = await tokensFrom({ status: 307, headers: { location: elsewhere.url } });

  await failureOf(tokens, 'CrmContractError');

  expect(elsewhere.seen).toEqual([]);
});

test('nobody listening is CrmUnavailable', async () => {
  const { crm } = deployment({ crm: { authUrl: await deadAddress() } });

  await failureOf(requestTokens(crm, CLIENT, GRANT, KNOWN, at(NOW)), 'CrmUnavailable');
});
