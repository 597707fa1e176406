import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand, GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { AuthorizeOptions, GrantTarget } from '../../../cli/access/authorize.ts';
import { createGetAccessToken } from '../../../core/oauth/access-token.ts';
import { createGrantStore } from '../../../core/oauth/grant.ts';
import { createLedger } from '../../../core/oauth/ledger.ts';
import { accessTokenDeps } from '../../../core/oauth/refresh.ts';
import { tokensSchema } from '../../../core/oauth/secrets.ts';

/** Creates two secrets without a value and a ledger, like the stack, with their own clients. */
export async function makePlaces(endpoint: string) {
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  const settings = { endpoint, region: 'us-east-1', credentials, maxAttempts: 1 };
  const secrets = new SecretsManagerClient(settings);
  const dynamo = new DynamoDBClient(settings);
  const secret = async (name: string) =>
    (await secrets.send(new CreateSecretCommand({ Name: `${name}-${randomUUID()}` }))).ARN ?? '';
  const ClientSecretId = await secret('client');
  const TokensSecretId = await secret('tokens');
  const LedgerTableName = `ledger-${randomUUID()}`;
  await dynamo.send(
    new CreateTableCommand({
      TableName: LedgerTableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    }),
  );
  const target = { secrets, dynamo, ClientSecretId, TokensSecretId, LedgerTableName };
  const textOf = async (SecretId: string) =>
    (await secrets.send(new GetSecretValueCommand({ SecretId }))).SecretString ?? '';
  return {
    ...target,
    target,
    clientText: () => textOf(ClientSecretId),
    tokensText: () => textOf(TokensSecretId),
    tokens: async () => tokensSchema.parse(JSON.parse(await textOf(TokensSecretId))),
    store: createGrantStore(secrets, TokensSecretId),
    ledger: createLedger(dynamo, LedgerTableName, TokensSecretId),
  };
}

/** A function that uses the stored grant, in its own container. */
export function functionAt({ target }: { target: GrantTarget }, crm: AuthorizeOptions['crm']) {
  const { ClientSecretId: clientSecretId, TokensSecretId: tokensSecretId, LedgerTableName: ledgerTable } = target;
  const { secrets, dynamo } = target;
  return createGetAccessToken(
    accessTokenDeps({
      ...{ clientSecretId, tokensSecretId, ledgerTable },
      crm,
      secrets,
      dynamo,
      sleep: (ms) => sleep(ms),
      random: () => 0.1,
      secondsLeft: () => 900,
      now: () => new Date(),
      count: () => undefined,
      authorizeCommand: 'npx --no -- crm-export authorize',
      inFunction: true,
    }),
  );
}
