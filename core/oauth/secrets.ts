import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import { CRM_EXPORT } from '../commands.ts';
import { RunError } from '../errors.ts';
import { jsonOrUndefined } from '../json.ts';

/** The OAuth client that `authorize` stores. A client with the authentication method `none` has no secret. */
export const oauthClientSchema = z.object({
  clientId: z.string().check(z.minLength(1)),
  clientSecret: z._default(z.string(), ''),
});
export type OAuthClient = z.infer<typeof oauthClientSchema>;

/** The token set that `authorize` and refreshes store. Times are ISO 8601. `expiresAt` null: the CRM stated none. */
export const tokensSchema = z.object({
  refreshToken: z.string().check(z.minLength(1)),
  accessToken: z.string().check(z.minLength(1)),
  expiresAt: z.nullable(z.iso.datetime()),
  obtainedAt: z.iso.datetime(),
  scope: z.string(),
  /** The client that received the grant. No other client may refresh it. Earlier releases do not always store it. */
  clientId: z.optional(z.string()),
  /** When a function last refreshed the grant; null: never, so a refresh is due. Earlier releases do not store it. */
  functionStoredAt: z.optional(z.nullable(z.iso.datetime())),
  /**
   * The number of the authorization, from the counter in the ledger. Refreshes keep it. A grant never replaces one with
   * a higher number. Grants of earlier releases have no number.
   */
  authorization: z.optional(z.int()),
  /** When the token sets of the 24 hours before this one were obtained. */
  earlierObtainedAt: z.array(z.iso.datetime()),
});
export type Tokens = z.infer<typeof tokensSchema>;
/** The tokens in an answer of the token endpoint. */
export type NewTokens = Omit<Tokens, 'earlierObtainedAt' | 'functionStoredAt' | 'authorization' | 'clientId'>;

const FIX = `to store the client and the grant: ${CRM_EXPORT} authorize`;

/** Reads one version of a secret, by default the current one; `undefined` if it does not exist or has no value. */
export async function readSecret(
  client: SecretsManagerClient,
  secretId: string,
  which: { VersionId?: string; VersionStage?: string } = {},
): Promise<{ versionId: string; text: string } | undefined> {
  try {
    const command = new GetSecretValueCommand({ SecretId: secretId, ...which });
    const { SecretString, VersionId = '' } = await client.send(command);
    // For a secret without a value, AWS returns an error, and the local cloud returns an empty text.
    return SecretString ? { versionId: VersionId, text: SecretString } : undefined;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw secretError('read', secretId, error);
  }
}

/**
 * Reads the stored client.
 * @throws RunError `ConfigInvalid` (no value, an invalid value, no permission, or a secret scheduled for deletion),
 *   `TokenStoreUnavailable`
 */
export async function readOAuthClient(client: SecretsManagerClient, secretId: string): Promise<OAuthClient> {
  const stored = await readSecret(client, secretId);
  if (!stored) throw withoutValue(secretId);
  return parseSecret(secretId, stored.text, oauthClientSchema);
}

export function withoutValue(secretId: string): RunError {
  return new RunError('ConfigInvalid', `The secret ${secretId} has no value yet (${FIX}).`);
}

/**
 * Stores a value as the current version of a secret. The signal aborts the request.
 * @returns `false` if a version with this id exists already, with any content
 * @throws RunError `TokenStoreUnavailable`, `ConfigInvalid`
 */
export async function writeSecret(
  client: SecretsManagerClient,
  SecretId: string,
  value: OAuthClient | Tokens,
  { versionId, abortSignal }: { versionId?: string; abortSignal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  const version = { ClientRequestToken: versionId, SecretString: JSON.stringify(value), VersionStages: ['AWSCURRENT'] };
  try {
    await client.send(new PutSecretValueCommand({ SecretId, ...version }), abortSignal && { abortSignal });
    return true;
  } catch (error) {
    if (error instanceof ResourceExistsException) return false;
    throw secretError('written', SecretId, error);
  }
}

/** Parses the value of a secret. @throws RunError `ConfigInvalid`, which names fields and never quotes the value */
export function parseSecret<T>(secretId: string, text: string, schema: z.core.$ZodType<T>): T {
  const parsed = z.safeParse(schema, jsonOrUndefined(text));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  const what = fields.length > 0 ? `has wrong or missing fields: ${fields.join(', ')}` : 'is not a JSON object';
  throw new RunError('ConfigInvalid', `The value of the secret ${secretId} ${what} (${FIX}).`);
}

/** Turns an error of Secrets Manager into an error of the run. */
export function secretError(how: 'read' | 'written', secretId: string, error: unknown): RunError {
  if (error instanceof Error && error.name === 'InvalidRequestException') {
    const restore = `aws secretsmanager restore-secret --secret-id ${secretId}`;
    const what = `The secret ${secretId} is scheduled for deletion; to restore it: ${restore}.`;
    return new RunError('ConfigInvalid', what, { cause: error });
  }
  const right = `${how === 'read' ? 'read' : 'write'} the secret ${secretId}`;
  return storeError(error, `The secret ${secretId} could not be ${how}`, right);
}

/**
 * The error after a failed call of a store of tokens. A missing permission ends the run at once; the advice is for
 * functions and for commands.
 */
export function storeError(error: unknown, what: string, right: string): RunError {
  if (error instanceof RunError) return error;
  const name = error instanceof Error ? error.name : 'an unknown error';
  if (name !== 'AccessDeniedException')
    return new RunError('TokenStoreUnavailable', `${what} (${name}).`, { cause: error });
  const advice =
    'If a function reports this, deploy all its policies again: npx cdk deploy -c rewrite=policies. If you see this in the terminal, use another --profile, or ask for the rights that docs/security.md lists';
  const missing = `There is no permission to ${right} with these credentials.`;
  return new RunError('ConfigInvalid', `${missing} ${advice}.`, { cause: error });
}
