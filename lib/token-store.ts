import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

/**
 * Where the grant lives. The secrets of the OAuth client and of the grant are created without a value: `authorize` writes
 * the first, the functions rotate the second. (The L2 construct would generate a random value, and a change of a value in
 * the template would overwrite the grant.) They are kept when the stack is destroyed.
 *
 * The ledger says who may spend which generation of the grant (docs/adr/0013). It holds no tokens, and means nothing
 * without its secret, so it goes with the stack.
 */
export class TokenStore extends Construct {
  readonly clientSecretId: string;
  readonly tokensSecretId: string;
  readonly ledger: TableV2;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.clientSecretId = this.emptySecret('OAuthClient', 'The OAuth client: its id and secret. Written by authorize.');
    this.tokensSecretId = this.emptySecret(
      'OAuthTokens',
      'The OAuth grant: access and refresh token. Written by this software only.',
    );
    this.ledger = new TableV2(this, 'Ledger', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      billing: Billing.onDemand(),
      encryption: TableEncryptionV2.awsManagedKey(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: 'ttl',
      removalPolicy: RemovalPolicy.DESTROY,
    });
  }

  /** Reads both secrets, claims generations, and stores a refreshed grant. */
  allowTokens(grantee: IGrantable): void {
    const allow = (actions: string[], ...resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns });
    allow(['secretsmanager:GetSecretValue'], this.clientSecretId, this.tokensSecretId);
    allow(['secretsmanager:PutSecretValue'], this.tokensSecretId);
    allow(['dynamodb:GetItem', 'dynamodb:UpdateItem'], this.ledger.tableArn);
  }

  private emptySecret(id: string, description: string): string {
    const secret = new CfnSecret(this, id, { description });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
    return secret.ref;
  }
}
