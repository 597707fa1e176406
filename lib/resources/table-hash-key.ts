import type { Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';
import { tableEntities } from '../../core/table/stored-table.ts';
import type { EncryptionKey } from './encryption-key.ts';

/**
 * The key of hashed columns, if there are any: a secret that CloudFormation creates once, because with another key the
 * hashes would differ from those in older tables.
 * @returns the id of the secret
 */
export function tableHashKey(stack: Stack, deployment: Deployment, key: EncryptionKey): string | undefined {
  if (!tableEntities(deployment).some((entity) => deployment.entities[entity].tables?.hash)) return undefined;
  const what = 'the key of the hashed columns of tables. A person who has it can find out what was hashed.';
  const generateSecretString = { passwordLength: 64, excludePunctuation: true };
  return key.secret(new Construct(stack, 'Tables'), 'HashKey', what, { generateSecretString });
}
