import { setTimeout as sleep } from 'node:timers/promises';
import { readEnv } from '../config/env.ts';
import { createGetAccessToken } from '../oauth/access-token.ts';
import { accessTokenDeps } from '../oauth/compose.ts';
import { stepDependencies } from '../step/dependencies.ts';
import type { Invocation } from '../step/step.ts';
import type { AnyStepName } from '../step/steps.ts';
import { createCrmClient } from './client.ts';

/** What every handler composes, and a client of the service that fetches its tokens by itself. */
export function crmDependencies(step: AnyStepName, invocation: Invocation) {
  const common = stepDependencies(step);
  const { deployment, log, now, random } = common;
  const env = readEnv(process.env, 'DEPLOYMENT', 'CLIENT_SECRET_ID', 'TOKENS_SECRET_ID', 'LEDGER_TABLE');
  const places = {
    clientSecretId: env.CLIENT_SECRET_ID,
    tokensSecretId: env.TOKENS_SECRET_ID,
    ledgerTable: env.LEDGER_TABLE,
  };
  const getAccessToken = createGetAccessToken(
    accessTokenDeps(places, {
      crm: deployment.crm,
      now,
      random,
      sleep,
      secondsLeft: () => invocation.secondsLeft(),
      count: (event) => log.measure({ [event]: 1 }),
      onOddities: (oddities) => log.info('the token endpoint answered oddly', { oddities }),
      authorizeCommand: `npm run cli -- authorize --deployment ${env.DEPLOYMENT}`,
    }),
  );
  const count = () => {
    invocation.requests.crm += 1;
  };
  return { ...common, crm: createCrmClient({ baseUrl: deployment.crm.baseUrl, getAccessToken, log, now, count }) };
}
