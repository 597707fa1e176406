import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { OAuthSettings } from '../config/deployment.ts';
import { createGrantStore } from './grant.ts';
import { createLedger } from './ledger.ts';
import { type OAuthClient, readOAuthClient, type Tokens } from './secrets.ts';
import { callTokenEndpoint } from './token-endpoint.ts';

interface Deployed {
  tokensSecretId: string;
  clientSecretId: string;
  ledgerTable: string;
  crm: OAuthSettings;
  secrets: SecretsManagerClient;
  dynamo: DynamoDBClient;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  random: () => number;
  secondsLeft: () => number;
  /** Counts an event, for an alarm. */
  count: (event: 'TokenRefreshes' | 'GrantRotatedButNotStored' | 'TokenEndpointUnanswered') => void;
  /** Whether a function refreshes, and not a command that a person runs. */
  inFunction?: boolean;
  /** The command to authorize again, for messages. */
  authorizeCommand: string;
}

export type AccessTokenDeps = ReturnType<typeof accessTokenDeps>;

/** The dependencies of `createGetAccessToken`: secrets, ledger and token endpoint of one deployment. */
export function accessTokenDeps(deployed: Deployed) {
  const { tokensSecretId, clientSecretId, ledgerTable, crm, secrets, dynamo, now } = deployed;
  return {
    ...deployed,
    store: createGrantStore(secrets, tokensSecretId),
    ledger: createLedger(dynamo, ledgerTable, tokensSecretId),
    /** `undefined` if its secret has no value: between the two writes of a first `authorize`, only the grant has it. */
    readClient: () => readOAuthClient(secrets, clientSecretId),
    callTokenEndpoint: (client: OAuthClient, { refreshToken, scope }: Tokens, timeoutMs: number) => {
      const grant = { grant_type: 'refresh_token' as const, refresh_token: refreshToken };
      return callTokenEndpoint({ crm, client, grant, scope, timeoutMs, now });
    },
  };
}
