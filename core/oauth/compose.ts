import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { LEASE_LIMITS } from '../aws/aws-limits.ts';
import type { OAuthSettings } from '../config/deployment.ts';
import type { AccessTokenDeps } from './access-token.ts';
import { createGrantStore } from './grant-store.ts';
import { createLedger } from './ledger.ts';
import { readOAuthClient } from './secrets.ts';
import { callTokenEndpoint } from './token-endpoint.ts';

/** Where the grant of a deployment is kept. */
export interface TokenPlaces {
  clientSecretId: string;
  tokensSecretId: string;
  ledgerTable: string;
}

interface Around extends Omit<AccessTokenDeps, 'store' | 'ledger' | 'readClient' | 'callTokenEndpoint' | 'secretId'> {
  crm: OAuthSettings;
  /** The clients of AWS; by default those of the environment. */
  secrets?: SecretsManagerClient;
  dynamo?: DynamoDBClient;
}

/** The real parts behind `createGetAccessToken`: secrets, ledger and token endpoint of one deployment. */
export function accessTokenDeps(places: TokenPlaces, around: Around): AccessTokenDeps {
  const {
    crm,
    secrets = new SecretsManagerClient(LEASE_LIMITS),
    dynamo = new DynamoDBClient(LEASE_LIMITS),
    ...rest
  } = around;
  return {
    ...rest,
    store: createGrantStore(secrets, places.tokensSecretId),
    ledger: createLedger(dynamo, places.ledgerTable, places.tokensSecretId),
    readClient: () => readOAuthClient(secrets, places.clientSecretId),
    callTokenEndpoint: (client, { refreshToken, scope }, timeoutMs) => {
      const grant = { grant_type: 'refresh_token' as const, refresh_token: refreshToken };
      return callTokenEndpoint({ crm, client, grant, scope, timeoutMs, now: rest.now });
    },
    secretId: places.tokensSecretId,
  };
}
