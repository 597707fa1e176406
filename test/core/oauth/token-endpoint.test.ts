import { expect, test } from 'vitest';
import { meaningOfToken } from '../../../core/oauth/token-answers.ts';
import { callTokenEndpoint, type Grant, type TokenAnswer } from '../../../core/oauth/token-endpoint.ts';
import { CANARY, deployment } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';
import { cutOff, deadAddress, hangUp, type Reply, serverFor } from '../../support/http-server.ts';

const LINE = 'POST /auth/oauth/token';
const CLIENT = { clientId: 'my client:1', clientSecret: `${CANARY}+/%ä` };
const GRANT = { grant_type: 'refresh_token' as const, refresh_token: `${CANARY}-old` };
const NOW = '2026-11-20T01:00:00.000Z';
const GOOD = { access_token: 'a', refresh_token: 'r', expires_in: 3600, scope: 'openid', token_type: 'Bearer' };

type Way = 'basic' | 'basic_raw' | 'post' | 'none';

function callAt(authUrl: string, { how = 'basic' as Way, timeoutMs = 5_000 } = {}): Promise<TokenAnswer> {
  const { crm } = deployment({ crm: { authUrl, clientAuthentication: how } });
  return callTokenEndpoint({ crm, client: CLIENT, grant: GRANT, scope: 'known', timeoutMs, now: at(NOW) });
}

/** The result of one call with this reply. The server verifies that there is only one call. */
async function answerTo(reply: Reply, options?: Parameters<typeof callAt>[1]) {
  const server = await serverFor([LINE, reply]);
  const answer = await callAt(`${server.url}/auth`, options);
  expect(JSON.stringify(answer)).not.toContain(CANARY);
  return { answer, seen: server.seen };
}

async function tokensFrom(json: unknown, more: object = {}) {
  const { answer } = await answerTo({ json, ...more });
  if (answer.kind !== 'granted') throw new Error(`${answer.kind}: ${answer.message}`);
  return answer;
}

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

test.each([
  ['basic: id and secret are form-encoded first', 'basic', basic('my+client%3A1:c4n4ry-5ecret%2B%2F%25%C3%A4'), {}],
  ['basic_raw: id and secret as they are', 'basic_raw', basic(`my client:1:${CLIENT.clientSecret}`), {}],
  ['post: both in the form', 'post', undefined, { client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret }],
  ['none: the id in the form, and no secret anywhere', 'none', undefined, { client_id: CLIENT.clientId }],
] as const)('client authentication %s', async (_, how, authorization, form) => {
  const { seen } = await answerTo({ json: GOOD }, { how });

  expect(seen[0]?.headers.authorization).toBe(authorization);
  expect(seen[0]?.headers['content-type']).toContain('application/x-www-form-urlencoded');
  expect(Object.fromEntries(new URLSearchParams(seen[0]?.body))).toEqual({ ...GRANT, ...form });
});

test('a complete answer becomes the grant to store', async () => {
  const { tokens } = await tokensFrom(GOOD);

  expect(tokens).toEqual({
    refreshToken: 'r',
    accessToken: 'a',
    expiresAt: '2026-11-20T02:00:00.000Z',
    obtainedAt: NOW,
    scope: 'openid',
  });
});

test.each([undefined, null, 0, -1, 'never', {}, 1e12, Number.MAX_SAFE_INTEGER, true, ''])(
  'an expires_in of %j means an unknown lifetime, not an expired token',
  async (expires_in) => {
    const { tokens } = await tokensFrom({ ...GOOD, expires_in });

    expect(tokens).toMatchObject({ accessToken: 'a', refreshToken: 'r', expiresAt: null });
  },
);

test.each<[string, object, object]>([
  ['without a token_type', { token_type: undefined }, {}],
  ['with a token_type of its own', { token_type: 'mac' }, {}],
  ['with scope null', { scope: null }, {}],
  ['with a scope that is a list', { scope: ['x'] }, {}],
  ['with unknown fields', { id_token: 7, extra: {} }, {}],
  ['with status 201', {}, { status: 201 }],
  ['with the type text/html', {}, { headers: { 'content-type': 'text/html' } }],
  ['with an expires_in as text', { expires_in: '3600' }, {}],
])('an answer %s is still a grant', async (_, change, more) => {
  const { tokens } = await tokensFrom({ ...GOOD, ...change }, more);

  expect(tokens).toMatchObject({ accessToken: 'a', refreshToken: 'r', expiresAt: '2026-11-20T02:00:00.000Z' });
  expect(['openid', 'known']).toContain(tokens.scope);
});

test('an answer is a grant even if its connection breaks after the last byte of the JSON', async () => {
  const { answer } = await answerTo(cutOff(200, {}, JSON.stringify(GOOD)));

  expect(answer).toMatchObject({ kind: 'granted', tokens: { accessToken: 'a', refreshToken: 'r' } });
});

test('an answer is a grant even if it has an error whose parts have no text', async () => {
  const { tokens } = await tokensFrom({
    ...GOOD,
    error: { detail: { toString: 7 } },
    errors: [{ detail: { toString: 7 } }],
  });

  expect(tokens).toMatchObject({ accessToken: 'a', refreshToken: 'r' });
});

test.each([[''], [null], [undefined], [7]])('a scope or refresh token of %j is ignored', async (value) => {
  const { tokens } = await tokensFrom({ ...GOOD, scope: value, refresh_token: value });

  expect(tokens).toMatchObject({ refreshToken: undefined, scope: 'known' });
});

const WORTHLESS = [
  'refresh_token_cannot_be_reused',
  'refresh_token_no_longer_valid',
  'RefreshTokenNotValid',
  'INVALID_GRANT',
  'invalid-grant',
  'invalidGrant',
  'refresh_token_must_not_be_reused',
  'expired_oauth_refresh_token',
  'refresh_token_id_not_found',
  'refresh_token_hash_not_found',
  'refresh_token_could_not_be_found',
  'refresh_token_status_revoked',
  'revoked_client_refresh_token',
  'INVALID_PROVIDED_REFRESH_TOKEN',
  'RefreshTokenHashInvalid',
  'refresh_token_family_revoked',
  'refresh_token_previously_used',
  'The refresh token given was revoked.',
  'Provided refresh token is expired or revoked',
  'Refresh token is invalid. Request another.',
];
const NOT_WORTHLESS = [
  'unknown_error: refresh_token: retry',
  'invalid_request_refresh_token_missing',
  'Invalid client or refresh token',
  'refresh_token_client_unknown',
  'Bad status: refresh token service',
  'refresh_token_cannot_be_used_now',
  'refresh_token_could_not_be_revoked',
  'refresh_token_hash_required',
  'Refresh token used too often',
  'invalid_refresh_token_request',
  'refresh_token_invalid_request',
  'refresh_token_bad_gateway',
  'refresh_token_unknown_error',
  'refresh_token_status_unknown',
];

test.each([
  ...WORTHLESS.map((code) => [code, 'invalidGrant'] as const),
  ...NOT_WORTHLESS.map((code) => [code, 'unclear'] as const),
])('the code "%s" is judged as %s', (code, kind) => {
  expect(meaningOfToken(400, { error: code }).means).toBe(kind);
  expect(meaningOfToken(400, { error: { code } }).means).toBe(kind);
});

test.each<[number, object, TokenAnswer['kind'], string]>([
  [400, { error: 'invalid_grant', error_description: 'Expired.' }, 'invalidGrant', '400: invalid_grant.'],
  [400, { error: 'invalid_grant', error_description: 7 }, 'invalidGrant', '400: invalid_grant.'],
  [200, { error: 'invalid_grant' }, 'invalidGrant', '200: invalid_grant.'],
  [200, { error: 'bad_refresh_token' }, 'invalidGrant', 'answered 200: a code that calls the refresh token invalid'],
  [400, { error_code: 'refresh_token_not_found', msg: CANARY }, 'invalidGrant', 'answered 400: a code that calls'],
  [401, { error: { code: 'RefreshTokenExpired' } }, 'invalidGrant', 'answered 401: a code that calls'],
  [400, { errors: [{ errorCode: 'refresh-token-already-used' }] }, 'invalidGrant', 'answered 400: a code that calls'],
  [422, { code: 'REVOKED_REFRESH_TOKEN' }, 'invalidGrant', 'answered 422: a code that calls'],
  [200, { code: 'refresh_token_revoked' }, 'invalidGrant', 'answered 200: a code that calls'],
  [400, { error: { code: 'invalid_grant' } }, 'invalidGrant', 'answered 400: invalid_grant.'],
  [400, { error: { error: 'invalid_grant' } }, 'invalidGrant', 'answered 400: invalid_grant.'],
  [400, { errors: [{ errorType: 'invalid_grant' }], success: false }, 'invalidGrant', 'answered 400: invalid_grant.'],
  [400, { error: { name: 'invalid_grant', message: CANARY } }, 'invalidGrant', 'answered 400: invalid_grant.'],
  [400, { errors: [{ kind: 'RefreshTokenRevoked' }] }, 'invalidGrant', 'answered 400: a code that calls'],
  [400, { error: ' INVALID_GRANT' }, 'invalidGrant', 'answered 400: invalid_grant.'],
  [400, { status: 'BAD_REFRESH_TOKEN', message: CANARY }, 'invalidGrant', 'answered 400: a code that calls'],
  [400, { error: 'refresh_token_does_not_exist' }, 'invalidGrant', 'answered 400: a code that calls'],
  [400, { error: 'Invalid or expired refresh token.' }, 'invalidGrant', 'answered 400: a code that calls'],
  [400, { error: 'The refresh token has already been used' }, 'invalidGrant', 'answered 400: a code that calls'],
  [401, { code: 'invalid_client' }, 'refused', 'answered 401: invalid_client.'],
  [401, { errors: [{ errorType: 'invalid_client' }] }, 'refused', 'answered 401: invalid_client.'],
  [400, { error: { type: 'Unauthorized_Client' } }, 'refused', 'answered 400: unauthorized_client.'],
  [400, JSON.parse('{"__proto__":{"error":"invalid_grant"}}'), 'unclear', 'answered 400.'],
  [503, { code: 'refresh_token_expired' }, 'busy', 'answered 503.'],
  [500, { code: 'refresh_token_expired' }, 'lost', 'answered 500.'],
  [403, { error: 'invalid_grant' }, 'elsewhere', '403, which is not an answer of a token endpoint: check crm.authUrl'],
  [404, { error: 'refresh_token_not_found' }, 'elsewhere', 'answered 404, which is not an answer of a token endpoint'],
  [500, { error: 'invalid_grant' }, 'lost', '500: invalid_grant.'],
  [503, { error: 'invalid_grant' }, 'busy', '503: invalid_grant.'],
  [400, { error: 'invalid_client' }, 'refused', '400: invalid_client.'],
  [401, { error: 'invalid_client' }, 'refused', '401: invalid_client.'],
  [400, { error: 'invalid_scope' }, 'refused', '400: invalid_scope.'],
  [400, { error: 'unauthorized_client' }, 'refused', '400: unauthorized_client.'],
  [200, { error: 'unsupported_grant_type' }, 'refused', '200: unsupported_grant_type.'],
  [400, { error: CANARY }, 'unclear', 'answered 400: an error code that RFC 6749 does not list.'],
  [400, { error: 'unknown_error: retry your request' }, 'unclear', 'answered 400: an error code that RFC'],
  [400, { error: 'unknown_error: refresh_token: retry' }, 'unclear', 'answered 400: an error code that RFC'],
  [400, { error: 'Invalid request: refresh_token is required' }, 'unclear', 'answered 400: an error code that RFC'],
  [400, { error: 'Bad gateway of the refresh token service' }, 'unclear', 'answered 400: an error code that RFC'],
  [400, { error: 'invalid_request' }, 'unclear', 'answered 400: invalid_request.'],
  [400, {}, 'unclear', 'answered 400.'],
  [400, [CANARY], 'unclear', 'answered 400.'],
  [400, { code: 'refresh_token_required' }, 'unclear', 'answered 400.'],
  [400, { code: 'refresh_token_unused' }, 'unclear', 'answered 400.'],
  [400, { code: 'refresh_token_not_validated' }, 'unclear', 'answered 400.'],
  [400, { error: { message: 'Bad request: refresh_token unknown?' } }, 'unclear', 'answered 400.'],
  [401, { message: CANARY }, 'unclear', 'answered 401.'],
  [200, { error: { message: CANARY } }, 'unclear', 'answered 200.'],
  [200, { success: false, errors: [CANARY] }, 'unclear', 'answered 200.'],
  [403, {}, 'elsewhere', 'answered 403, which is not an answer'],
  [404, {}, 'elsewhere', 'answered 404, which is not an answer'],
  [405, {}, 'elsewhere', 'answered 405, which is not an answer'],
  [200, { errcode: 40030, errmsg: CANARY }, 'unclear', 'answered 200.'],
  [200, { ok: false, message: CANARY }, 'unclear', 'answered 200.'],
  [200, { status: 'error', message: CANARY }, 'unclear', 'answered 200.'],
  [200, { data: { success: false } }, 'unclear', 'answered 200.'],
  [409, { error: 'refresh_in_progress' }, 'locked', 'answered 409: its body says that the CRM is busy.'],
  [422, { error: 'temporarily_unavailable' }, 'locked', 'answered 422: its body says that the CRM is busy.'],
  [423, { error: { code: 'TooManyRequests', message: CANARY } }, 'locked', 'answered 423: its body says'],
  [409, { error: 'invalid_grant' }, 'invalidGrant', 'answered 409: invalid_grant.'],
  [409, { error: 'invalid_client' }, 'refused', 'answered 409: invalid_client.'],
  [400, { error: 'temporarily_unavailable' }, 'unclear', 'answered 400: temporarily_unavailable.'],
  [403, { error: 'temporarily_unavailable' }, 'elsewhere', 'answered 403, which is not an answer'],
  [409, {}, 'unclear', 'answered 409.'],
  [422, { message: CANARY, errors: { refresh_token: [CANARY] } }, 'unclear', 'answered 422.'],
  [425, {}, 'lost', 'answered 425.'],
  [408, {}, 'lost', 'answered 408.'],
  [429, {}, 'busy', 'answered 429.'],
  [500, {}, 'lost', 'answered 500.'],
  [502, {}, 'lost', 'answered 502.'],
  [503, { error: CANARY }, 'busy', 'answered 503: an error code that RFC 6749 does not list.'],
  [504, {}, 'lost', 'answered 504.'],
])('the answer %i %j is %s', async (status, json, kind, message) => {
  const { answer } = await answerTo({ status, json });

  expect(answer).toMatchObject({ kind, message: expect.stringContaining(message) });
});

test.each<[number, object, string | undefined]>([
  [400, { error: 'invalid_scope' }, 'invalid_scope'],
  [400, { error: ' INVALID_SCOPE' }, 'invalid_scope'],
  [401, { errors: [{ errorType: 'invalid_client' }] }, 'invalid_client'],
  [200, { error: { code: 'invalid_grant' } }, 'invalid_grant'],
  [400, { error: 'x', error_description: 'The message is about invalid_client.' }, undefined],
  [400, { error: 'invalid_clients' }, undefined],
  [403, { error: 'invalid_client' }, undefined],
  [503, { error: 'invalid_client' }, undefined],
])('the refusal %i %j has the code %s', async (status, json, code) => {
  const { answer } = await answerTo({ status, json });

  expect(answer).toHaveProperty('code', code);
});

test.each([
  ['form-encoded', (token: string) => encodeURIComponent(token)],
  ['as it is', (token: string) => token],
  ['in Base64', (token: string) => Buffer.from(token).toString('base64')],
  ['backwards', (token: string) => [...token].reverse().join('')],
])('no message contains the presented secret if the CRM repeats it %s', async (_, echo) => {
  const presented = {
    code: `${CANARY}+of/a=code`,
    redirect_uri: 'http://127.0.0.1/',
    code_verifier: `${CANARY}+verifier`,
  };
  const grants: Grant[] = [
    { grant_type: 'refresh_token', refresh_token: `${CANARY}+of/a=refresh` },
    { grant_type: 'authorization_code', ...presented },
  ];
  for (const grant of grants) {
    const secret = 'code' in grant ? grant.code : grant.refresh_token;
    for (const json of [
      { error: 'invalid_grant', error_description: `unknown: ${echo(secret)}` },
      { error: echo(secret), error_uri: `https://x/?${echo(secret)}` },
    ]) {
      const server = await serverFor([LINE, { status: 400, json }]);
      const { crm } = deployment({ crm: { authUrl: `${server.url}/auth` } });

      const answer = await callTokenEndpoint({ crm, client: CLIENT, grant, scope: '', timeoutMs: 5_000, now: at(NOW) });

      expect(JSON.stringify(answer)).not.toContain(echo(secret));
      expect(JSON.stringify(answer)).not.toContain(echo(secret).slice(0, 12));
    }
  }
});

test.each([`global:export ${CANARY} openid`, `global:export,${CANARY},openid`])(
  'of the scopes %j of an answer, only the requested ones are kept',
  async (scope) => {
    const { tokens } = await tokensFrom({ ...GOOD, scope });

    expect(tokens.scope).toBe('openid global:export');
  },
);

test.each([
  [429, '7', 7],
  [503, 'Fri, 20 Nov 2026 01:01:30 GMT', 90],
  [503, 'soon', undefined],
  [429, '3600', 3600],
  [429, '31536000', 3600],
  [429, '9'.repeat(400), undefined],
  [503, 'Sat, 20 Nov 2027 01:00:00 GMT', 3600],
])('%i with Retry-After %s is a wait of %s seconds', async (status, value, retryAfterSeconds) => {
  const headers = { 'retry-after': value, date: new Date(NOW).toUTCString() };
  const { answer } = await answerTo({ status, headers });

  expect(answer).toMatchObject({ kind: 'busy', status, retryAfterSeconds });
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is not followed, because it would send the secret elsewhere',
  async (status) => {
    const elsewhere = await serverFor();

    const { answer } = await answerTo({ status, headers: { location: `${elsewhere.url}/${CANARY}` } });

    expect(answer).toMatchObject({
      kind: 'elsewhere',
      message: expect.stringMatching(`^The token endpoint answered ${status}, .*check crm\\.authUrl`),
    });
    expect(elsewhere.seen).toEqual([]);
  },
);

test.each<[string, Reply]>([
  ['a web page with status 200', { text: `<html>${CANARY}` }],
  ['an empty body with status 200', { text: '' }],
  ['an empty body with status 204', { status: 204 }],
  ['half of a JSON text', { text: `{"access_token":"${CANARY}` }],
  ['a JSON list', { json: [CANARY] }],
  ['an answer without an access token', { json: { token: CANARY } }],
  ['an empty access token', { json: { ...GOOD, access_token: '' } }],
  ['a null error', { json: { error: null, errors: [] } }],
  ['a connection that ends without an answer', hangUp],
  ['an answer that breaks off', cutOff(200, {}, `{"access_token":"${CANARY}`)],
  ['an error that breaks off', cutOff(400, {}, '{"error":"invalid_gra')],
  ['a web page with status 502', { status: 502, text: `<html>${CANARY}` }],
])('%s is "lost", because the CRM may have processed the request', async (_, reply) => {
  expect((await answerTo(reply)).answer).toMatchObject({ kind: 'lost' });
});

test.each<[string, Reply]>([
  ['a web page', { text: `<html>${CANARY}` }],
  ['nothing', { status: 204 }],
  ['the answer of another service in JSON', { json: { message: 'Welcome', version: 1 } }],
])('%s with a good status names crm.authUrl, because another service may have answered', async (_, reply) => {
  expect((await answerTo(reply)).answer).toMatchObject({ message: expect.stringContaining('check crm.authUrl') });
});

test.each<[number, string]>([
  [400, '<!doctype html><h1>Bad request</h1>'],
  [401, 'Unauthorized'],
  [400, ''],
])('%i with the body %j is "elsewhere", and the message names crm.authUrl', async (status, text) => {
  const { answer } = await answerTo({ status, text });

  expect(answer).toMatchObject({ kind: 'elsewhere', message: expect.stringContaining('check crm.authUrl') });
});

test('a missing answer is "lost" at the time limit', async () => {
  const { answer } = await answerTo(() => undefined, { timeoutMs: 500 });

  expect(answer).toMatchObject({ kind: 'lost', message: expect.stringContaining('did not answer') });
});

test.each([
  ['no server is listening', deadAddress],
  ['the host name is unknown', async () => 'http://token-endpoint.invalid'],
  ['the server does not use TLS', async () => (await serverFor()).url.replace('http:', 'https:')],
])('the answer is "notSent" when %s', async (_, address) => {
  const message = expect.stringContaining('no connection to the token endpoint at crm.authUrl');
  expect(await callAt(await address())).toMatchObject({ kind: 'notSent', message });
});
