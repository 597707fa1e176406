import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { CRM_EXPORT } from '../commands.ts';
import { RunError } from '../errors.ts';
import { type Generation, successorOf } from './grant.ts';
import { parseSecret, secretError, type Tokens, tokensSchema } from './secrets.ts';

/** The stored grant with its generations. Every method throws RunError `TokenStoreUnavailable` or `ConfigInvalid`. */
export interface GrantStore {
  /** The one that AWSCURRENT names; Secrets Manager may answer a former one for a while. */
  current(): Promise<Generation>;
  /** The VersionId that AWSCURRENT names, whatever it holds; `undefined` where nothing was ever stored. */
  currentVersionId(): Promise<string | undefined>;
  /** `undefined` when it is not (yet) there. */
  version(versionId: string): Promise<Generation | undefined>;
  /** `false` when it exists already, with whatever content. The signal ends the try. */
  store(versionId: string, tokens: Tokens, signal?: AbortSignal): Promise<boolean>;
}

export function createGrantStore(client: SecretsManagerClient, secretId: string): GrantStore {
  const read = async (which: { VersionId: string } | { VersionStage: string }) => {
    try {
      const { SecretString, VersionId } = await client.send(
        new GetSecretValueCommand({ SecretId: secretId, ...which }),
      );
      // AWS refuses to read a secret without a value; the local cloud answers an empty text.
      return SecretString && VersionId ? { versionId: VersionId, text: SecretString } : undefined;
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw secretError('read', secretId, error);
    }
  };
  const parse = ({ versionId, text }: { versionId: string; text: string }): Generation => ({
    versionId,
    tokens: parseSecret(secretId, text, tokensSchema),
  });
  return {
    currentVersionId: async () => (await read({ VersionStage: 'AWSCURRENT' }))?.versionId,
    current: async () => {
      const stored = await read({ VersionStage: 'AWSCURRENT' });
      if (stored) return parse(stored);
      const what = `The secret ${secretId} has no value yet; to store it: ${CRM_EXPORT} authorize.`;
      throw new RunError('ConfigInvalid', what);
    },
    version: async (VersionId) => {
      const stored = await read({ VersionId });
      return stored && parse(stored);
    },
    store: async (versionId, tokens, abortSignal) => {
      const value = { ClientRequestToken: versionId, SecretString: JSON.stringify(tokens) };
      const command = new PutSecretValueCommand({ SecretId: secretId, ...value, VersionStages: ['AWSCURRENT'] });
      try {
        await client.send(command, abortSignal && { abortSignal });
        return true;
      } catch (error) {
        if (error instanceof ResourceExistsException) return false;
        throw secretError('written', secretId, error);
      }
    },
  };
}

/** The generation with the label AWSCURRENT, and its last successor. @throws RunError */
export async function newestOf(store: GrantStore) {
  const labelled = await store.current();
  let newest = labelled;
  for (;;) {
    const successor = await store.version(successorOf(newest.versionId));
    if (!successor) return { labelled, newest };
    newest = successor;
  }
}
