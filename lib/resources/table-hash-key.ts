import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { tableEntities } from '../../core/table/stored-table.ts';
import type { EncryptionKey } from './encryption-key.ts';

/**
 * The key of hashed columns, if there are any: a secret that CloudFormation creates once, because with another key the
 * hashes would differ from those in older tables.
 */
export class TableHashKey extends Construct {
  readonly secretId: string | undefined = undefined;
  private readonly key: EncryptionKey;

  constructor(scope: Construct, id: string, { deployment, key }: { deployment: Deployment; key: EncryptionKey }) {
    super(scope, id);
    this.key = key;
    if (!tableEntities(deployment).some((entity) => deployment.entities[entity].tables?.hash)) return;
    const what = 'the key of the hashed columns of tables. A person who has it can find out what was hashed.';
    const generateSecretString = { passwordLength: 64, excludePunctuation: true };
    this.secretId = key.secret(this, 'HashKey', what, { generateSecretString });
  }

  /** Environment variables with which a function finds the secret. */
  get environment(): Record<string, string> {
    return this.secretId === undefined ? {} : { HASH_KEY_SECRET_ID: this.secretId };
  }

  /** The secrets that stay when the stack is removed. */
  get kept(): string[] {
    return Object.values(this.environment);
  }

  allowReading(grantee: IGrantable): void {
    if (this.secretId !== undefined) this.key.allowSecret(grantee, this.secretId);
  }
}
