import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, type CfnGlobalTable, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { EncryptionKey } from './encryption-key.ts';

/**
 * Storage of the grant. The two secrets are created without a value and kept when the stack is destroyed: `authorize`
 * writes the client, and the functions rotate the grant. (The L2 construct would generate a value and overwrite the
 * grant.) The ledger records claims on token sets of the grant (docs/adr/0013), on starts by rules (0021), and which
 * export a run requested (0004). It has no tokens and is removed with the stack.
 */
export class TokenStore extends Construct {
  readonly clientSecretId: string;
  readonly tokensSecretId: string;
  readonly ledger: TableV2;
  private readonly key: EncryptionKey;

  constructor(scope: Construct, id: string, { key }: { key: EncryptionKey }) {
    super(scope, id);
    this.key = key;
    const ofClient = 'the OAuth client, its id and secret. Written by authorize.';
    const ofGrant = 'the OAuth grant: its client and tokens. Written by this software only.';
    this.clientSecretId = key.secret(this, 'OAuthClient', ofClient);
    this.tokensSecretId = key.secret(this, 'OAuthTokens', ofGrant);
    // The construct takes no key if the Region is not fixed, so the template names it by id, as DynamoDB does. With the
    // ARN a new stack would seem changed by hand (https://github.com/aws/aws-cdk/issues/35136). The table must never be
    // replaced: with two ledgers during a deployment, a token set could be claimed twice.
    this.ledger = new TableV2(this, 'Ledger', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      billing: Billing.onDemand(),
      encryption: TableEncryptionV2.awsManagedKey(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: 'ttl',
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const resource = this.ledger.node.defaultChild as CfnGlobalTable;
    resource.addPropertyOverride('Replicas.0.SSESpecification.KMSMasterKeyId', key.key.keyId);
  }

  /** Environment variables with which a function finds secrets and ledger. */
  get environment() {
    return {
      CLIENT_SECRET_ID: this.clientSecretId,
      TOKENS_SECRET_ID: this.tokensSecretId,
      LEDGER_TABLE: this.ledger.tableName,
    };
  }

  /** Reads both secrets, claims token sets, and stores a refreshed grant. */
  allowTokens(grantee: IGrantable): void {
    const allow = (actions: string[], ...resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns });
    allow(['secretsmanager:GetSecretValue'], this.clientSecretId, this.tokensSecretId);
    allow(['secretsmanager:PutSecretValue'], this.tokensSecretId);
    // A refused claim returns its holder, so no function reads the ledger.
    allow(['dynamodb:UpdateItem'], this.ledger.tableArn);
    // Each request of Secrets Manager to the key names the secret
    // (https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html, "encryption context").
    this.key.allow(grantee, 'secretsmanager', ['kms:Decrypt', 'kms:GenerateDataKey'], {
      'kms:EncryptionContext:SecretARN': [this.clientSecretId, this.tokensSecretId],
    });
    // Writing also needs this permission, because DynamoDB created a key for the table, which it decrypts for each
    // caller (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html, "Decrypt").
    this.key.allow(grantee, 'dynamodb', ['kms:Decrypt']);
  }
}
