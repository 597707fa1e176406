import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSecretCommand, PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { deploymentSchema } from '../../core/config/deployment.ts';
import type { TokenPlaces } from '../../core/oauth/compose.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import type { Cloud } from '../../local/cloud.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../local/ministack/ministack-environment.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

/** Secrets and ledger of one deployment in the local cloud, as the stack makes them, and a grant of the sandbox. */
export async function createWorld({ endpoint }: Pick<Cloud, 'endpoint'>, sandbox: Sandbox) {
  const credentials = { accessKeyId: LOCAL_ACCOUNT, secretAccessKey: 'local' };
  const settings = { endpoint, region: LOCAL_REGION, credentials };
  const secrets = new SecretsManagerClient(settings);
  const { clientId, clientSecret, baseUrl, authUrl } = sandbox;
  const client = new CreateSecretCommand({
    Name: 'bench-client',
    SecretString: JSON.stringify({ clientId, clientSecret }),
  });
  const { ARN: clientSecretId = '' } = await secrets.send(client);
  const { ARN: tokensSecretId = '' } = await secrets.send(new CreateSecretCommand({ Name: 'bench-tokens' }));
  await new DynamoDBClient(settings).send(
    new CreateTableCommand({
      TableName: 'bench-ledger',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      BillingMode: 'PAY_PER_REQUEST',
    }),
  );
  const places: TokenPlaces = { clientSecretId, tokensSecretId, ledgerTable: 'bench-ledger' };
  const { crm } = deploymentSchema.parse({ local: true, crm: { baseUrl, authUrl } });
  return {
    places,
    crm,
    /** Stores a grant whose access token has this share of its hour left; a negative share is expired. */
    store: async (secondsLeft: number): Promise<void> => {
      const { accessToken, refreshToken, scopes } = sandbox.issueTokens();
      const end = Date.now() + secondsLeft * 1000;
      const tokens: Tokens = {
        accessToken,
        refreshToken,
        scope: scopes.join(' '),
        obtainedAt: new Date(end - 3_600_000).toISOString(),
        expiresAt: new Date(end).toISOString(),
        earlierObtainedAt: [],
      };
      await secrets.send(new PutSecretValueCommand({ SecretId: tokensSecretId, SecretString: JSON.stringify(tokens) }));
    },
  };
}
