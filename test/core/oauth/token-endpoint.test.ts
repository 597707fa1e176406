import { expect, onTestFinished, test, vi } from 'vitest';
import { meaningOfToken } from '../../../core/oauth/token-answers.ts';
import { callTokenEndpoint, type Grant, type TokenAnswer } from '../../../core/oauth/token-endpoint.ts';
import { CANARY, deployment } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';
import { cutOff, DEAD_ADDRESS, hangUp, type Reply, serverFor } from '../../support/http-server.ts';
import { expectTexts } from '../../support/screen.ts';

const LINE = 'POST /auth/oauth/token';
const CLIENT = { clientId: 'my client:1', clientSecret: `${CANARY}+/%ä` };
const GRANT = { grant_type: 'refresh_token' as const, refresh_token: `${CANARY}-old` };
const NOW = '2026-11-20T01:00:00.000Z';
const GOOD = { access_token: 'a', refresh_token: 'r', expires_in: 3600, scope: 'openid', token_type: 'Bearer' };

type Way = 'basic' | 'basic_raw' | 'post' | 'none';

function callAt(
  authUrl: string,
  { how = 'basic' as Way, timeoutMs = 60_000, now = at(NOW) } = {},
): Promise<TokenAnswer> {
  const { crm } = deployment({ crm: { authUrl, clientAuthentication: how } });
  return callTokenEndpoint({ crm, client: CLIENT, grant: GRANT, scope: 'known', timeoutMs, now });
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

test('a complete answer becomes the grant to store, and its life begins before the request', async () => {
  let time = Date.parse(NOW);
  const answersLate: Reply = (response) => {
    time += 15_000;
    response.end(JSON.stringify(GOOD));
  };

  const { answer } = await answerTo(answersLate, { now: () => new Date(time) });

  const tokens = { refreshToken: 'r', accessToken: 'a', scope: 'openid' };
  const life = { obtainedAt: NOW, expiresAt: '2026-11-20T02:00:00.000Z' };
  expect(answer).toEqual({ kind: 'granted', tokens: { ...tokens, ...life } });
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
  const error = { detail: { toString: 7 } };
  const { tokens } = await tokensFrom({ ...GOOD, error, errors: [error] });

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
  'refresh_token_must_not_be_reused',
  'expired_oauth_refresh_token',
  'refresh_token_id_not_found',
  'refresh_token_hash_not_found',
  'refresh_token_could_not_be_found',
  'refresh_token_status_revoked',
  'INVALID_PROVIDED_REFRESH_TOKEN',
  'RefreshTokenHashInvalid',
  'refresh_token_family_revoked',
  'refresh_token_previously_used',
  'The refresh token given was revoked.',
  'Refresh token is invalid. Request another.',
  'No such refresh token',
  'Unknown refresh token',
  'refresh token cannot be found',
  'refresh_token_may_not_be_reused',
  'refresh_token_session_expired',
  'The refresh token value is invalid',
];
const NOT_WORTHLESS = [
  'unknown_error: refresh_token: retry',
  'Invalid client or refresh token',
  'refresh_token_client_unknown',
  'refresh_token_cannot_be_used_now',
  'refresh_token_could_not_be_revoked',
  'refresh_token_hash_required',
  'Refresh token used too often',
  'invalid_refresh_token_request',
  'refresh_token_invalid_request',
  'refresh_token_bad_gateway',
  'refresh_token_unknown_error',
  'refresh_token_status_unknown',
  'unused_refresh_token',
  'invalid_refresh_token_response',
  `The refresh token is invalid. ${'x'.repeat(100)}`,
];

test.each([
  ...WORTHLESS.map((code) => [code, 'invalidGrant'] as const),
  ...NOT_WORTHLESS.map((code) => [code, 'unclear'] as const),
])('the code "%s" is judged as %s', (code, kind) => {
  expect(meaningOfToken(400, { error: code }).means).toBe(kind);
  expect(meaningOfToken(400, { error: { code } }).means).toBe(kind);
});

/** Answers of a token endpoint in JSON, by their status. */
const ANSWERS: Record<number, unknown[]> = {
  200: [
    { error: 'invalid_grant' },
    { error: 'bad_refresh_token' },
    { code: 'refresh_token_revoked' },
    { error: 'unsupported_grant_type' },
    { error: { message: CANARY } },
    { success: false, errors: [CANARY] },
    { errcode: 40030, errmsg: CANARY },
    { ok: false, message: CANARY },
    { status: 'error', message: CANARY },
    { error: { code: 'invalid_grant' } },
  ],
  400: [
    { error: 'invalid_grant', error_description: 'Expired.' },
    { error: 'invalid_grant', error_description: 7 },
    { error_code: 'refresh_token_not_found', msg: CANARY },
    { error: { code: 'invalid_grant' } },
    { errors: [{ kind: 'RefreshTokenRevoked' }] },
    { error: ' INVALID_GRANT' },
    { status: 'BAD_REFRESH_TOKEN', message: CANARY },
    { error: 'refresh_token_does_not_exist' },
    { error: 'The refresh token has already been used' },
    { code: 'refresh_token_not_validated' },
    { error: { type: 'Unauthorized_Client' } },
    JSON.parse('{"__proto__":{"error":"invalid_grant"}}'),
    { error: 'invalid_client' },
    { error: 'unauthorized_client' },
    { error: CANARY },
    { error: 'unknown_error: retry your request' },
    { error: 'Invalid request: refresh_token is required' },
    { error: 'invalid_request' },
    {},
    [CANARY],
    { error: { message: 'Bad request: refresh_token unknown?' } },
    { error: ' INVALID_SCOPE' },
    { error: 'x', error_description: 'The message is about invalid_client.' },
    { error: 'invalid_clients' },
    { error: 'invalid_request', error_reason: 'refresh_token_not_found' },
  ],
  401: [
    { error: { code: 'RefreshTokenExpired' } },
    { ErrorCode: 'invalid_grant', Error: CANARY },
    { code: 'invalid_client' },
    { error: 'invalid_client' },
    { message: CANARY },
  ],
  403: [{ error: 'invalid_grant' }, {}, { error: 'temporarily_unavailable' }, { error: 'invalid_client' }],
  404: [{ error: 'refresh_token_not_found' }, {}],
  405: [{}],
  408: [{}],
  409: [{ error: 'refresh_in_progress' }, { error: 'invalid_grant' }, { error: 'invalid_client' }, {}],
  422: [
    { code: 'REVOKED_REFRESH_TOKEN' },
    { error: 'temporarily_unavailable' },
    { message: CANARY, errors: { refresh_token: [CANARY] } },
  ],
  423: [{ error: { code: 'TooManyRequests', message: CANARY } }, {}],
  425: [{}],
  429: [{}],
  500: [{ code: 'refresh_token_expired' }, { error: 'invalid_grant' }, {}],
  502: [{}],
  503: [{ code: 'refresh_token_expired' }, { error: 'invalid_grant' }, { error: CANARY }, { error: 'invalid_client' }],
  504: [{}],
};

test('the status and the body of an answer decide what it means, and its message quotes no text of the CRM', async () => {
  const texts = Object.entries(ANSWERS).map(([status, bodies]) => {
    const lines = bodies.map((body) => {
      const { means, message, code } = meaningOfToken(Number(status), body);
      expect(message).not.toContain(CANARY);
      return `${JSON.stringify(body)}\n  ${means}${code ? ` (${code})` : ''}: ${message}`;
    });
    return [status, lines.join('\n')] as const;
  });

  await expectTexts('token-answers', texts);
});

test.each([
  ['form-encoded', (token: string) => encodeURIComponent(token)],
  ['as it is', (token: string) => token],
  ['in Base64', (token: string) => Buffer.from(token).toString('base64')],
  ['backwards', (token: string) => [...token].reverse().join('')],
])('no message contains the presented secret if the CRM repeats it %s', async (_, echo) => {
  const proof = { redirect_uri: 'http://127.0.0.1/', code_verifier: `${CANARY}+verifier` };
  const grants: Grant[] = [
    { grant_type: 'refresh_token', refresh_token: `${CANARY}+of/a=refresh` },
    { grant_type: 'authorization_code', code: `${CANARY}+of/a=code`, ...proof },
  ];
  for (const grant of grants) {
    const secret = 'code' in grant ? grant.code : grant.refresh_token;
    for (const json of [
      { error: 'invalid_grant', error_description: `unknown: ${echo(secret)}` },
      { error: echo(secret), error_uri: `https://x/?${echo(secret)}` },
    ]) {
      const server = await serverFor([LINE, { status: 400, json }]);
      const { crm } = deployment({ crm: { authUrl: `${server.url}/auth` } });

      const known = { crm, client: CLIENT, scope: '', timeoutMs: 60_000, now: at(NOW) };
      const answer = await callTokenEndpoint({ ...known, grant });

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
      message: expect.stringMatching(`\\b${status}, .*crm\\.authUrl`),
    });
    expect(elsewhere.seen).toEqual([]);
  },
);

test('an answer without JSON or without a token may come from another service, or have spent the token', async () => {
  const replies: [what: string, Reply][] = [
    ['a web page with status 200', { text: `<html>${CANARY}` }],
    ['an empty body with status 200', { text: '' }],
    ['an empty body with status 204', { status: 204 }],
    ['half of a JSON text', { text: `{"access_token":"${CANARY}` }],
    ['a JSON list', { json: [CANARY] }],
    ['an answer without an access token', { json: { token: CANARY } }],
    ['an empty access token', { json: { ...GOOD, access_token: '' } }],
    ['a null error', { json: { error: null, errors: [] } }],
    ['the answer of another service in JSON', { json: { message: 'Welcome', version: 1 } }],
    ['a connection that ends without an answer', hangUp],
    ['an answer that breaks off', cutOff(200, {}, `{"access_token":"${CANARY}`)],
    ['an error that breaks off', cutOff(400, {}, '{"error":"invalid_gra')],
    ['a web page with status 502', { status: 502, text: `<html>${CANARY}` }],
    ['a web page with status 400', { status: 400, text: '<!doctype html><h1>Bad request</h1>' }],
    ['a text with status 401', { status: 401, text: 'Unauthorized' }],
    ['an empty body with status 400', { status: 400, text: '' }],
  ];
  const texts: [string, string][] = [];
  for (const [what, reply] of replies) {
    const { answer } = await answerTo(reply);
    const message = answer.kind === 'granted' ? '' : answer.message;
    // The code of a broken connection depends on the moment.
    texts.push([what, `${answer.kind}: ${message.replace(/\([A-Z_]+\)/, '(CODE)')}`]);
  }

  await expectTexts('token-answers-without-token', texts);
});

test('a missing answer is "lost" at the time limit', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked = Promise.withResolvers<void>();
  const answered = answerTo(() => asked.resolve(), { timeoutMs: 5000 });
  await asked.promise;

  vi.advanceTimersByTime(5000);

  expect((await answered).answer).toMatchObject({ kind: 'lost' });
});

test.each([
  ['no server is listening', async () => DEAD_ADDRESS],
  ['the host name is unknown', async () => 'http://token-endpoint.invalid'],
  ['the server does not use TLS', async () => (await serverFor()).url.replace('http:', 'https:')],
])('the answer is "notSent" when %s', async (_, address) => {
  expect(await callAt(await address())).toMatchObject({
    kind: 'notSent',
    message: expect.stringContaining('crm.authUrl'),
  });
});
