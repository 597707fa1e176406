import { RemovalPolicy } from 'aws-cdk-lib';
import { type Grant, Grant as Grants, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

/**
 * The secrets of the OAuth client and of the grant, created without a value: `authorize` writes the first, the functions
 * rotate the second. (The L2 construct would generate a random value, and a change of a value in the template would
 * overwrite the grant.) Kept when the stack is destroyed.
 */
export class TokenStore extends Construct {
  readonly clientSecretId: string;
  readonly tokensSecretId: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.clientSecretId = this.emptySecret('OAuthClient', 'The OAuth client: its id and secret. Written by authorize.');
    this.tokensSecretId = this.emptySecret(
      'OAuthTokens',
      'The OAuth grant: access and refresh token. Written by this software only.',
    );
  }

  /** Reads both secrets, and stores a refreshed grant. */
  allowTokens(role: IGrantable): Grant[] {
    const read = ['secretsmanager:GetSecretValue'];
    return [
      Grants.addToPrincipal({ grantee: role, actions: read, resourceArns: [this.clientSecretId] }),
      Grants.addToPrincipal({
        grantee: role,
        actions: [...read, 'secretsmanager:PutSecretValue'],
        resourceArns: [this.tokensSecretId],
      }),
    ];
  }

  private emptySecret(id: string, description: string): string {
    const secret = new CfnSecret(this, id, { description });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
    return secret.ref;
  }
}
