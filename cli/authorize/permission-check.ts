import { randomUUID } from 'node:crypto';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { BEFORE_THE_FIRST } from '../../core/oauth/generation.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { RESTORE } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

export type GrantTarget = Pick<Target, 'secrets' | 'dynamo' | 'ClientSecretId' | 'TokensSecretId' | 'LedgerTableName'>;

/**
 * Checks the permissions before a person consents: reads and writes both secrets and the ledger without changing them.
 * @returns the value of the secret of the client; `undefined` before the first authorization
 * @throws CommandError (exit code 3)
 */
export async function checkPermissions(target: GrantTarget): Promise<string | undefined> {
  const { secrets, dynamo, ClientSecretId, TokensSecretId, LedgerTableName } = target;
  const client = await checkSecret(secrets, ClientSecretId);
  const tokens = await checkSecret(secrets, TokensSecretId);
  const ledger = createLedger(dynamo, LedgerTableName, TokensSecretId);
  const versionId = tokens?.VersionId ?? BEFORE_THE_FIRST;
  try {
    await ledger.read(versionId);
    // Refused by its condition, because no such claim exists; without the right to write, AWS answers AccessDenied.
    await ledger.giveBack({ versionId, owner: randomUUID() });
  } catch (error) {
    const what = `The table ${LedgerTableName}, in which the refreshes are recorded, could not be used (${nameOf(error)}).`;
    throw impossible(what, error);
  }
  return client?.SecretString;
}

/** The value as it is, put again under its own VersionId, is documented to change nothing. */
async function checkSecret(client: SecretsManagerClient, SecretId: string) {
  const current = await client
    .send(new GetSecretValueCommand({ SecretId, VersionStage: 'AWSCURRENT' }))
    .catch((error) => {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw impossible(`The secret ${SecretId} could not be read (${nameOf(error)}).`, error, SecretId);
    });
  // AWS refuses to read a secret without a value; the local cloud answers an empty text.
  const stored = current?.SecretString && current.VersionId ? current : undefined;
  try {
    const { VersionId, SecretString } = stored ?? {};
    const same = stored && { ClientRequestToken: VersionId, SecretString, VersionStages: ['AWSCURRENT'] };
    await client.send(new PutSecretValueCommand({ SecretId, ...same }));
  } catch (error) {
    // A put without a value is invalid, but only with the right to put does AWS say so.
    if (!stored && INCOMPLETE.has(nameOf(error))) return undefined;
    throw impossible(`The secret ${SecretId} could not be written (${nameOf(error)}).`, error);
  }
  return stored;
}

const INCOMPLETE = new Set(['InvalidRequestException', 'InvalidParameterException', 'ValidationException']);

/** The name that AWS gave the error, also where one of ours wraps it. */
function nameOf(error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return error.cause.name;
  return error instanceof Error ? error.name : 'an unknown error';
}

/** @param readSecret the secret that was read: AWS refuses that while the secret is scheduled for deletion */
function impossible(what: string, error: unknown, readSecret?: string): CommandError {
  const advice = adviceFor(nameOf(error), readSecret);
  return new CommandError(`${what} ${advice} Nobody was asked to consent yet.`, ENVIRONMENT, { cause: error });
}

function adviceFor(name: string, secretId: string | undefined): string {
  if (/AccessDenied/.test(name)) return 'Use credentials that may read and write it.';
  if (name === 'ResourceNotFoundException') return `${RESTORE}.`;
  if (secretId && name === 'InvalidRequestException') {
    return `It is scheduled for deletion; to restore it: aws secretsmanager restore-secret --secret-id ${secretId}.`;
  }
  return 'Try again later.';
}
