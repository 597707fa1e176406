import { expect, test } from 'vitest';
import { createGetAccessToken } from '../../../../lambdas/shared/oauth/access-token.ts';
import type { Tokens } from '../../../../lambdas/shared/oauth/secrets.ts';
import { secretsManager } from '../../../support/aws-servers.ts';
import { CANARY, deployment } from '../../../support/builders.ts';
import { failureOf } from '../../../support/failures.ts';
import { type Reply, serverFor } from '../../../support/http-server.ts';

const NOW = Date.parse('2026-11-20T01:00:00.000Z');
const tokens = (overrides: Partial<Tokens> = {}): Tokens => ({
  refreshToken: 'r1',
  accessToken: 'a1',
  expiresAt: '2026-11-20T01:30:00.000Z',
  obtainedAt: '2026-11-20T00:30:00.000Z',
  scope: 'openid',
  ...overrides,
});
const renewed = (number: number, answer: object = {}): Reply => ({
  json: { access_token: `a${number}`, refresh_token: `r${number}`, expires_in: 3600, ...answer },
});
const EXPIRED = { expiresAt: '2026-11-20T00:59:00.000Z' };

/** A token module over a stored grant and a token endpoint with these answers; `events` has the order of all requests. */
async function tokenModule(stored: Tokens, replies: Reply[] = [], trouble?: (operation: string) => string | undefined) {
  const events: string[] = [];
  const values: Record<string, string> = {
    client: JSON.stringify({ clientId: 'c', clientSecret: CANARY }),
    tokens: JSON.stringify(stored),
  };
  const noted = replies.map((reply): [string, Reply] => [
    'POST /oauth/token',
    (response) => {
      events.push('refresh');
      const { status = 200, json } = reply as { status?: number; json: unknown };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    },
  ]);
  const endpoint = await serverFor(...noted);
  const secrets = await secretsManager(values, { events, ...(trouble && { trouble }) });
  const clock = { time: NOW };
  const getAccessToken = createGetAccessToken({
    secrets: secrets.client,
    clientSecretId: 'client',
    tokensSecretId: 'tokens',
    crm: deployment({ crm: { authUrl: endpoint.url } }).crm,
    now: () => new Date(clock.time),
  });
  const store = () => JSON.parse(values.tokens ?? '') as Tokens;
  return { getAccessToken, events, clock, values, store, seen: endpoint.seen };
}

test('a stored token that lives is given out without any refresh, and read once per container', async () => {
  const { getAccessToken, events } = await tokenModule(tokens());

  const given = [await getAccessToken(), await getAccessToken()];

  expect(given).toEqual([
    { accessToken: 'a1', scope: 'openid' },
    { accessToken: 'a1', scope: 'openid' },
  ]);
  expect(events).toEqual(['GetSecretValue tokens']);
});

test('a token with less than a minute to live is not sent out', async () => {
  const soon = new Date(NOW + 60_000).toISOString();
  const { getAccessToken } = await tokenModule(tokens({ expiresAt: soon }), [renewed(2)]);

  expect((await getAccessToken()).accessToken).toBe('a2');
});

test('a token of unknown life is used until the service refuses it', async () => {
  const { getAccessToken, clock, events } = await tokenModule(tokens({ expiresAt: null }));

  await getAccessToken();
  clock.time += 10 * 86_400_000;

  expect((await getAccessToken()).accessToken).toBe('a1');
  expect(events).toEqual(['GetSecretValue tokens']);
});

test('a refreshed grant is stored before its access token is given out', async () => {
  const { getAccessToken, events, store, seen } = await tokenModule(tokens(EXPIRED), [renewed(2)]);

  const given = await getAccessToken().finally(() => events.push('given out'));

  expect(given.accessToken).toBe('a2');
  expect(events).toEqual([
    'GetSecretValue tokens',
    'GetSecretValue client',
    'refresh',
    'PutSecretValue tokens',
    'given out',
  ]);
  expect(store()).toMatchObject({ refreshToken: 'r2', accessToken: 'a2', expiresAt: '2026-11-20T02:00:00.000Z' });
  expect(new URLSearchParams(seen[0]?.body).get('refresh_token')).toBe('r1');
});

test('a grant that cannot be stored is not given out', async () => {
  const refuse = (operation: string) => (operation === 'PutSecretValue' ? 'InternalServiceError' : undefined);
  const { getAccessToken } = await tokenModule(tokens(EXPIRED), [renewed(2)], refuse);

  const error = await failureOf(getAccessToken(), 'TokenStoreUnavailable');

  expect(error.message).toBe('The secret tokens could not be written (InternalServiceError).');
});

test('each refresh spends the refresh token of the one before', async () => {
  const { getAccessToken, clock, seen } = await tokenModule(tokens(EXPIRED), [renewed(2), renewed(3)]);

  await getAccessToken();
  clock.time += 2 * 3600_000;
  const given = await getAccessToken();

  expect(given.accessToken).toBe('a3');
  expect(seen.map(({ body }) => new URLSearchParams(body).get('refresh_token'))).toEqual(['r1', 'r2']);
});

test('a token that the service refused is refreshed, though it had time to live', async () => {
  const { getAccessToken } = await tokenModule(tokens(), [renewed(2)]);

  await getAccessToken();

  expect((await getAccessToken({ rejected: 'a1' })).accessToken).toBe('a2');
});

test('after a refusal the grant that another process has stored meanwhile is used, without a refresh', async () => {
  const { getAccessToken, values } = await tokenModule(tokens());

  await getAccessToken();
  values.tokens = JSON.stringify(tokens({ accessToken: 'a9', refreshToken: 'r9' }));

  expect((await getAccessToken({ rejected: 'a1' })).accessToken).toBe('a9');
});

test('a refusal of an older token does not spend the newer one that is at hand', async () => {
  const { getAccessToken, events } = await tokenModule(tokens({ accessToken: 'a5' }));

  await getAccessToken();

  expect((await getAccessToken({ rejected: 'a1' })).accessToken).toBe('a5');
  expect(events).toEqual(['GetSecretValue tokens']);
});

test('callers of one process share one refresh', async () => {
  const { getAccessToken, events } = await tokenModule(tokens(EXPIRED), [renewed(2)]);

  const given = await Promise.all([getAccessToken(), getAccessToken(), getAccessToken()]);

  expect(given.map(({ accessToken }) => accessToken)).toEqual(['a2', 'a2', 'a2']);
  expect(events.filter((event) => event === 'refresh')).toHaveLength(1);
});

test('a caller with a refused token does not get it back from a read that was under way', async () => {
  const { getAccessToken } = await tokenModule(tokens(), [renewed(2)]);

  const [, second] = await Promise.all([getAccessToken(), getAccessToken({ rejected: 'a1' })]);

  expect(second.accessToken).toBe('a2');
});

test('a service that gives the same access token again is not asked for ever', async () => {
  const { getAccessToken } = await tokenModule(tokens(), [renewed(1), renewed(1)]);

  expect((await getAccessToken({ rejected: 'a1' })).accessToken).toBe('a1');
});

test('a refresh that failed is tried anew by the next call', async () => {
  const down = { status: 503, json: {} };
  const { getAccessToken } = await tokenModule(tokens(EXPIRED), [down, renewed(2)]);

  await failureOf(getAccessToken(), 'CrmUnavailable');

  expect((await getAccessToken()).accessToken).toBe('a2');
});

test('a grant that the service does not accept any more asks for an authorization, and the stored one stays', async () => {
  const { getAccessToken, store } = await tokenModule(tokens(EXPIRED), [
    { status: 400, json: { error: 'invalid_grant' } },
  ]);

  await failureOf(getAccessToken(), 'ReauthorizationRequired');

  expect(store()).toEqual(tokens(EXPIRED));
});
