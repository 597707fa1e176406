import { expect, test } from 'vitest';
import { createCrmClient } from '../../core/crm/crm-client.ts';
import { createLog } from '../../core/log/log.ts';
import { accessTokenDeps, createGetAccessToken } from '../../core/oauth/access-token.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { type CheckStatusDeps, checkStatus } from '../../lambdas/check-status/check-status.ts';
import { deployment, EXPORT_ID, runState } from '../support/builders.ts';
import { lambdaContext, NOW } from '../support/deps.ts';
import { metricsIn } from '../support/emf.ts';
import { type Exchange, serverFor } from '../support/http-server.ts';
import { written } from '../support/written.ts';
import { FakeLedger } from './support/fake-ledger.ts';
import { FakeSecrets } from './support/fake-secrets.ts';
import { FIRST_VERSION } from './support/simulation.ts';

/** The metrics for the alarms of the grant, in the lines of a function that is composed as in `core/crm/compose.ts`. */

const REFRESH = 'POST /auth/oauth/token';
const STATUS = `GET /api/v1/leads/exports/${EXPORT_ID}`;
const granted = { json: { access_token: 'new', refresh_token: 'new too', token_type: 'Bearer', expires_in: 3600 } };

/** The function CheckStatus with an expired token. Time advances only during its waits. */
async function functionThatMeets(...exchanges: Exchange[]) {
  const { url } = await serverFor(...exchanges);
  const { crm } = deployment({ crm: { baseUrl: `${url}/api/v1`, authUrl: `${url}/auth` } });
  let time = Date.parse(NOW);
  const now = () => new Date(time);
  const latency = async () => undefined;
  const secrets = new FakeSecrets(now, latency);
  const ledger = new FakeLedger(latency);
  const old = { accessToken: 'old', refreshToken: 'old too', scope: 'global:export' };
  const hour = (hours: number) => new Date(time + hours * 3_600_000).toISOString();
  secrets.place(FIRST_VERSION, { ...old, obtainedAt: hour(-2), expiresAt: hour(-1), earlierObtainedAt: [] });
  const connect: Connect<CheckStatusDeps> = () => (invocation) => {
    const { log, secondsLeft } = invocation;
    const getAccessToken = createGetAccessToken(
      accessTokenDeps(
        { clientSecretId: 'client', tokensSecretId: 'tokens', ledgerTable: 'ledger' },
        {
          crm,
          now,
          secondsLeft,
          secrets: secrets.client,
          dynamo: ledger.client,
          random: () => 0.5,
          sleep: async (milliseconds) => {
            time += milliseconds;
          },
          count: (event) => log.measure({ [event]: 1 }),
          authorizeCommand: 'npx --no -- crm-export authorize --deployment prod',
        },
      ),
    );
    const client = createCrmClient({ baseUrl: crm.baseUrl, getAccessToken, log, now });
    return { ...invocation, crm: client };
  };
  const log = createLog('CheckStatus', 'prod');
  const handler = asStep('CheckStatus', checkStatus, connect, { log, now, random: () => 0.5, deployment });
  /** Invokes the function once and returns the metrics that CloudWatch reads from its lines. */
  const metrics = async () => {
    const { lines } = await written(() => handler(runState(), lambdaContext()));
    return lines
      .filter((line) => '_aws' in line)
      .flatMap(metricsIn)
      .map(({ namespace, name, dimensions, value }) => [namespace, name, dimensions, value]);
  };
  return { metrics, secrets };
}

test('a refresh that is stored counts as one', async () => {
  const { metrics } = await functionThatMeets([REFRESH, granted], [STATUS, { json: { status: 'PROCESSING' } }]);

  expect(await metrics()).toEqual([['crm-export-prod', 'TokenRefreshes', {}, 1]]);
});

test('a grant that was rotated and cannot be stored counts as lost', async () => {
  const processing: Exchange = [STATUS, { json: { status: 'PROCESSING' } }];
  const { metrics, secrets } = await functionThatMeets([REFRESH, granted], processing);
  const refusal = Object.assign(new Error('no'), { name: 'AccessDeniedException' });
  secrets.trouble = (operation) => (operation === 'PutSecretValue' ? refusal : undefined);

  expect(await metrics()).toEqual([['crm-export-prod', 'GrantRotatedButNotStored', {}, 1]]);
});

test('a run that finds the grant dead ends under the name that the alarm looks at, with its entity and without', async () => {
  const { metrics } = await functionThatMeets([REFRESH, { status: 400, json: { error: 'invalid_grant' } }]);

  expect(await metrics()).toEqual([
    ['crm-export-prod', 'RunsEnded', { entity: 'leads', outcome: 'ReauthorizationRequired' }, 1],
    ['crm-export-prod', 'RunsEnded', { outcome: 'ReauthorizationRequired' }, 1],
  ]);
});
