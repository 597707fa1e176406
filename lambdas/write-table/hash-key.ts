import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { readSecret } from '../../core/oauth/secrets.ts';
import { TableError } from '../../core/table/table-error.ts';

/** The shortest key that a person may set; the stack generates 64 characters. */
const SHORTEST = 32;

/**
 * The key of the hashed columns.
 * @throws TableError if there is no usable key; RunError `ConfigInvalid`, `TokenStoreUnavailable`
 */
export async function readHashKey(client: SecretsManagerClient, secretId: string | undefined): Promise<string> {
  if (secretId === undefined) throw new TableError('The stack has no secret for the hashed columns: deploy it again.');
  const key = (await readSecret(client, secretId))?.text ?? '';
  if (key.length >= SHORTEST) return key;
  const what = key === '' ? 'is missing or has no value' : `is shorter than ${SHORTEST} characters`;
  throw new TableError(`The key of the hashed columns ${what}: the secret ${secretId}.`);
}
