import { expect, test } from 'vitest';
import { createGetAccessToken } from '../../../core/oauth/access-token.ts';
import { accessTokenDeps } from '../../../core/oauth/deps.ts';
import { FakeLedger } from '../../oauth/support/fake-ledger.ts';
import { FakeSecrets } from '../../oauth/support/fake-secrets.ts';
import { deployment } from '../../support/builders.ts';
import { type Reply, serverFor } from '../../support/http-server.ts';

const NOW = '2026-11-20T01:00:00.000Z';
const EXPIRED = {
  refreshToken: 'refresh-1-of-the-night',
  accessToken: 'access-1-of-the-night',
  expiresAt: '2026-11-20T00:59:00.000Z',
  obtainedAt: '2026-11-19T23:59:00.000Z',
  scope: 'openid',
  earlierObtainedAt: [],
};
const RENEWED = { access_token: 'access-2-of-the-night', refresh_token: 'refresh-2-of-the-night', expires_in: 3600 };

/** The real modules with a real token endpoint; `done` lists all actions in order. */
async function composed(reply: Reply) {
  const done: string[] = [];
  const clock = { time: new Date(NOW).getTime() };
  const now = () => new Date(clock.time);
  const secrets = new FakeSecrets(now, async () => undefined);
  secrets.place('generation-1-with-its-thirty-two-chars', EXPIRED);
  const ledger = new FakeLedger(async () => undefined);
  secrets.trouble = (operation, secret) => void done.push(`${operation} ${secret}`);
  ledger.trouble = (operation) => void done.push(`ledger ${operation}`);
  const endpoint = await serverFor(['POST /oauth/token', reply]);
  const deps = accessTokenDeps({
    ...{ clientSecretId: 'client', tokensSecretId: 'tokens', ledgerTable: 'ledger' },
    crm: deployment({ crm: { authUrl: endpoint.url } }).crm,
    secrets: secrets.client,
    dynamo: ledger.client,
    now,
    sleep: async () => undefined,
    random: () => 0.5,
    secondsLeft: () => 900,
    count: (event) => done.push(event),
    authorizeCommand: 'npx --no -- crm-export authorize',
  });
  return { getAccessToken: createGetAccessToken(deps), done, secrets, ledger, clock, seen: endpoint.seen };
}

test('a refresh claims the grant, stores the new token set, and only then returns the token', async () => {
  const { getAccessToken, done, secrets, seen } = await composed({ json: RENEWED });

  const given = await getAccessToken().finally(() => done.push('given out'));

  expect(given).toEqual({ accessToken: 'access-2-of-the-night', scope: 'openid' });
  expect(done).toEqual([
    'GetSecretValue tokens',
    'GetSecretValue tokens',
    'ledger write',
    'GetSecretValue tokens',
    'GetSecretValue client',
    'PutSecretValue tokens',
    'TokenRefreshes',
    'ledger write',
    'given out',
  ]);
  expect(secrets.tokens).toEqual({
    refreshToken: 'refresh-2-of-the-night',
    accessToken: 'access-2-of-the-night',
    expiresAt: '2026-11-20T02:00:00.000Z',
    obtainedAt: NOW,
    scope: 'openid',
    clientId: 'id',
    clientSecret: 'c4n4ry-5ecret',
    earlierObtainedAt: ['2026-11-19T23:59:00.000Z'],
  });
  expect(new URLSearchParams(seen[0]?.body).get('refresh_token')).toBe('refresh-1-of-the-night');
});

test('a write of the secret is aborted before the claim ends', async () => {
  const { getAccessToken, done, secrets, ledger, clock } = await composed((response) => {
    // The claim lasts 45 seconds, with a margin of 2 seconds: 50 ms are left.
    clock.time += 42_950;
    response.end(JSON.stringify(RENEWED));
  });
  secrets.silent = true;

  expect(await getAccessToken()).toMatchObject({ accessToken: 'access-2-of-the-night' });

  expect(done.filter((step) => step === 'PutSecretValue tokens')).toHaveLength(1);
  expect(done).toContain('GrantRotatedButNotStored');
  expect(ledger.rows()).toMatchObject([{ state: 'DEAD' }]);
});
