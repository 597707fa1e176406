import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { LEASE_LIMITS } from '../aws/aws-limits.ts';
import { readEnv } from '../aws/env.ts';
import { CRM_EXPORT } from '../commands.ts';
import { createGetAccessToken, type TokenCache } from '../oauth/access-token.ts';
import { accessTokenDeps } from '../oauth/refresh.ts';
import type { Invocation } from '../step/step.ts';
import { type CrmClient, type CrmExchange, createCrmClient } from './crm-client.ts';

/** Creates a CRM client for each invocation. All clients share the AWS clients and the access token. */
export function crmFromEnv(): (invocation: Invocation) => CrmClient & CrmExchange {
  const env = readEnv(process.env, 'DEPLOYMENT', 'CLIENT_SECRET_ID', 'TOKENS_SECRET_ID', 'LEDGER_TABLE');
  const stores = { clientSecretId: env.CLIENT_SECRET_ID, tokensSecretId: env.TOKENS_SECRET_ID };
  const clients = { secrets: new SecretsManagerClient(LEASE_LIMITS), dynamo: new DynamoDBClient(LEASE_LIMITS) };
  const authorizeCommand = `${CRM_EXPORT} authorize --deployment ${env.DEPLOYMENT}`;
  const cache: TokenCache = {};
  return ({ deployment: { crm }, log, now, random, secondsLeft, requests }) => {
    const deps = accessTokenDeps({
      ...{ ...clients, ...stores, ledgerTable: env.LEDGER_TABLE, authorizeCommand },
      ...{ crm, now, random, sleep, secondsLeft },
      count: (event) => log.measure({ [event]: 1 }),
      inFunction: true,
    });
    const getAccessToken = createGetAccessToken(deps, cache);
    const count = () => {
      requests.crm += 1;
    };
    return createCrmClient({ baseUrl: crm.baseUrl, getAccessToken, log, now, count });
  };
}
