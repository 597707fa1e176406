import { expect, test } from 'vitest';
import { exchangeCode } from '../../../cli/access/authorize-flow.ts';
import { deployment } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';
import { serverFor } from '../../support/http-server.ts';

test('the times of the tokens are those of the clock that is given, which is that of AWS', async () => {
  const json = { access_token: 'a', refresh_token: 'r', expires_in: 3600, token_type: 'Bearer' };
  const server = await serverFor(['POST /oauth/token', { json }]);
  const { crm } = deployment({ crm: { authUrl: server.url } });
  const grant = { code: 'c', redirect_uri: 'http://127.0.0.1/', code_verifier: 'v' };

  const { tokens } = await exchangeCode(
    { clientId: 'id', clientSecret: 'secret', from: 'typed' },
    { grant_type: 'authorization_code', ...grant },
    { crm, configuration: 'config/dev.json', now: at('2031-01-01T00:00:00.000Z') },
  );

  expect(tokens).toMatchObject({ obtainedAt: '2031-01-01T00:00:00.000Z', expiresAt: '2031-01-01T01:00:00.000Z' });
});
