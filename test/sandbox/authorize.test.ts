import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { approveConsent } from '../../sandbox/approve.ts';
import { authorizeUrl, CALLBACK, consentCode, exchange, press, sandboxFor } from './client.ts';

test('the consent page names the client and every scope, and its markup takes no text of the request', async () => {
  const sandbox = await sandboxFor({ clientId: '<b>"me"' });
  const page = await fetch(authorizeUrl(sandbox));
  const text = await page.text();
  expect(page.status).toBe(200);
  expect(text).toContain('&lt;b&gt;&quot;me&quot;');
  expect(text).toContain('global:export');
  expect(text).toContain('<html lang="en">');
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
});

test('Allow sends the browser back with a code, the state and the issuer', async () => {
  const sandbox = await sandboxFor();
  const { origin, pathname, searchParams } = await press(sandbox, 'allow');
  expect(`${origin}${pathname}`).toBe(CALLBACK);
  expect(searchParams.get('state')).toBe('a state');
  expect(searchParams.get('iss')).toBe(sandbox.authUrl);
  expect(searchParams.get('code')).toMatch(/^[\w-]{30,}$/);
});

test.each([
  ['invalid_scope', { scope: 'openid everything' }],
  ['unsupported_response_type', { response_type: 'token' }],
  ['invalid_request', { code_challenge_method: 'plain' }],
])('%s is told to the client by a redirect: %j', async (error, change) => {
  const answer = await fetch(authorizeUrl(await sandboxFor(), change), { redirect: 'manual' });
  expect(answer.status).toBe(302);
  const { searchParams } = new URL(answer.headers.get('location') ?? '');
  expect(Object.fromEntries(searchParams)).toMatchObject({ error, state: 'a state' });
});

test.each<Record<string, string>>([{ client_id: 'somebody' }, { redirect_uri: 'https://crm.example/callback' }])(
  'a request that cannot be trusted gets a page and no redirect: %j',
  async (change) => {
    const answer = await fetch(authorizeUrl(await sandboxFor(), change), { redirect: 'manual' });
    expect(answer.status).toBe(400);
    expect(answer.headers.has('location')).toBe(false);
  },
);

test('approveConsent presses Allow and returns what the callback answered', async () => {
  const sandbox = await sandboxFor();
  const callback = createServer((request, answer) => answer.writeHead(202).end(`got ${request.url?.slice(0, 11)}`));
  await new Promise<void>((resolve) => callback.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void callback.close());
  const address = callback.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const url = authorizeUrl(sandbox, { redirect_uri: `http://127.0.0.1:${port}/back` });
  expect(await approveConsent(url)).toBe('202 got /back?code=');
});

test('a code is exchanged for tokens with the scopes of the consent', async () => {
  const sandbox = await sandboxFor({ accessTokenSeconds: 120 });
  const { status, headers, body } = await exchange(sandbox, await consentCode(sandbox));
  expect({ status, ...body }).toMatchObject({ status: 200, expires_in: 120, scope: 'openid global:export' });
  expect(headers.get('cache-control')).toBe('no-store');
});

test.each<Record<string, string>>([
  { code_verifier: 'x'.repeat(43) },
  { redirect_uri: 'http://127.0.0.1:9/other' },
  { code: 'unknown' },
])('an exchange that does not fit its consent is an invalid grant: %j', async (change) => {
  const sandbox = await sandboxFor();
  const { status, body } = await exchange(sandbox, await consentCode(sandbox), change);
  expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_grant' });
});

test('a code that is used twice revokes what it gave and is a violation', async () => {
  const sandbox = await sandboxFor();
  const code = await consentCode(sandbox);
  const { body } = await exchange(sandbox, code);
  expect((await exchange(sandbox, code)).body.error).toBe('invalid_grant');
  const headers = { Authorization: `Bearer ${body.access_token}` };
  expect((await fetch(`${sandbox.baseUrl}/leads/fields`, { headers })).status).toBe(401);
  expect(sandbox.ledger.violations()).toMatchObject([{ kind: 'token', reuse: true }]);
});
