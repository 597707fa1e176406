import { createServer, type RequestListener } from 'node:http';
import Provider from 'oidc-provider';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { authorize } from '../../cli/access/authorize.ts';
import { callTokenEndpoint } from '../../core/oauth/token-endpoint.ts';
import { deployment } from '../support/builders.ts';
import { portOf } from '../support/loopback.ts';
import { functionAt, makePlaces } from './support/grant-places.ts';

/** Tests an independent authorization server: `oidc-provider`, certified for OpenID Connect. */

const cloud = inject('cloud');

const CLIENT = { clientId: 'nightly:export', clientSecret: 'a secret+with signs' };

/** A server with strict rotation, required PKCE, and the two paths of the interface document. */
async function foreignServer() {
  // Silences the server's warning that its pages are for development only.
  const silent = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'info')].map((spy) => spy.mockReturnValue());
  onTestFinished(() => void silent.map((spy) => spy.mockRestore()));
  let answer: RequestListener = () => undefined;
  const server = createServer((request, response) => answer(request, response));
  const issuer = `http://127.0.0.1:${await portOf(server)}`;
  answer = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        token_endpoint_auth_method: 'client_secret_basic',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['for-this-test'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    scopes: ['openid', 'profile', 'global:export'],
    claims: { openid: ['sub'], profile: ['name'] },
    routes: { authorization: '/authorize', token: '/oauth/token' },
    ttl: { AccessToken: 3600, RefreshToken: 86_400, Grant: 86_400, Session: 3600, Interaction: 3600, IdToken: 3600 },
  }).callback();
  return issuer;
}

/** The browser of a person who logs in and consents: follows redirects, keeps cookies, submits forms. */
function person() {
  const cookies = new Map<string, string>();
  const go = async (url: string, body?: URLSearchParams): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(body && { method: 'POST', body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value) cookies.set(name, value);
      else cookies.delete(name);
    }
    const location = response.headers.get('location');
    return location ? go(new URL(location, url).href) : response;
  };
  return async (url: string) => {
    let response = await go(url);
    for (let page = 0; page < 3; page += 1) {
      const html = await response.text();
      const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
      const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1];
      if (!action || !prompt) return html;
      const form = new URLSearchParams({ prompt });
      if (prompt === 'login') form.set('login', 'operator');
      response = await go(new URL(action, url).href, form);
    }
    throw new Error('The CRM asks on and on.');
  };
}

test('stores a grant of oidc-provider, refreshes it, and replaces it after an old token was reused', async () => {
  const issuer = await foreignServer();
  const { crm } = deployment({ crm: { authUrl: issuer } });
  const places = await makePlaces(cloud.endpoint);
  const shown: string[] = [];

  const done = await authorize(places.target, {
    ...{ crm, configuration: 'config/dev.json' },
    ...CLIENT,
    onUrl: async (url) => shown.push(await person()(url)),
  });

  const first = await places.tokens();
  expect(done).toMatchObject({ scope: 'openid profile global:export', notes: [] });
  expect(first.scope).toBe('openid profile global:export');
  expect(shown.join()).toContain('<h1>Authorized');

  const { accessToken } = await functionAt(places, crm)({ rejected: first.accessToken });
  const second = await places.tokens();
  expect(second.accessToken).toBe(accessToken);
  expect(second.refreshToken).not.toBe(first.refreshToken);

  const reused = { grant_type: 'refresh_token', refresh_token: first.refreshToken } as const;
  const call = { crm, client: CLIENT, grant: reused, scope: '', timeoutMs: 10_000, now: () => new Date() };
  expect(await callTokenEndpoint(call)).toMatchObject({ status: 400, code: 'invalid_grant' });
  // The server revokes all tokens of the grant. A person has to consent again, which replaces the dead token set.
  await expect(functionAt(places, crm)({ rejected: accessToken })).rejects.toMatchObject({
    name: 'ReauthorizationRequired',
  });
  await authorize(places.target, { crm, configuration: 'config/dev.json', onUrl: person() });
  const third = await places.tokens();
  // The first function refreshes the grant from a person.
  const refreshed = await functionAt(places, crm)();
  expect(refreshed.accessToken).not.toBe(third.accessToken);
  expect(await places.tokens()).toMatchObject({ accessToken: refreshed.accessToken });
});
