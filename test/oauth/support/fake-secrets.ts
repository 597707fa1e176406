import {
  GetSecretValueCommand,
  type PutSecretValueCommand,
  ResourceExistsException,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { Tokens } from '../../../core/oauth/secrets.ts';
import { clientOf } from './fake-ledger.ts';

type Operation = 'GetSecretValue' | 'PutSecretValue';

/** Secrets Manager in memory, as AWS documents it: a version is written once, and reads of the label may be stale. */
export class FakeSecrets {
  /** The OAuth client; `undefined`: not stored. */
  oauthClient: string | undefined = JSON.stringify({ clientId: 'id', clientSecret: 'c4n4ry-5ecret' });
  /** All versions of the tokens, by VersionId. */
  readonly versions = new Map<string, string>();
  /** Reads of the label return the value of that long ago. */
  staleMs = 0;
  readonly operations: string[] = [];
  /** Every PutSecretValue call. */
  readonly puts: { token: string; text: string }[] = [];
  trouble: (operation: Operation, secret: string) => Error | undefined = () => undefined;
  /** Puts get no answer: only the caller can end them. */
  silent = false;
  readonly #label: { from: number; versionId: string }[] = [];
  readonly #now: () => Date;
  readonly #latency: () => Promise<unknown>;

  constructor(now: () => Date, latency: () => Promise<unknown>) {
    this.#now = now;
    this.#latency = latency;
  }

  get client(): SecretsManagerClient {
    return clientOf(SecretsManagerClient, (command: GetSecretValueCommand | PutSecretValueCommand, options?: Ending) =>
      this.#send(command, options),
    );
  }

  /** Stores a version, as a person in the console would. */
  place(versionId: string, tokens: Tokens): void {
    this.versions.set(versionId, JSON.stringify(tokens));
    this.#label.push({ from: this.#now().getTime(), versionId });
  }

  get currentVersionId(): string {
    return this.#label.at(-1)?.versionId ?? '';
  }

  get tokens(): Tokens {
    return JSON.parse(this.versions.get(this.currentVersionId) ?? '{}') as Tokens;
  }

  async #send(command: GetSecretValueCommand | PutSecretValueCommand, options: Ending = {}): Promise<object> {
    await this.#latency();
    const operation = command instanceof GetSecretValueCommand ? 'GetSecretValue' : 'PutSecretValue';
    this.operations.push(`${operation} ${command.input.SecretId}`);
    if (operation === 'PutSecretValue') this.#note(command.input);
    const trouble = this.trouble(operation, command.input.SecretId ?? '');
    if (trouble) throw trouble;
    if (operation === 'PutSecretValue' && this.silent) await aborted(options.abortSignal);
    const answer =
      operation === 'PutSecretValue' ? this.#put(command.input) : this.#get(command.input as GetSecretValueInput);
    await this.#latency();
    return answer;
  }

  #note({ ClientRequestToken = '', SecretString = '' }: PutInput): void {
    this.puts.push({ token: ClientRequestToken, text: SecretString });
  }

  #put({ SecretId, ClientRequestToken = '', SecretString = '' }: PutInput): object {
    if (SecretId === 'client') {
      this.oauthClient = SecretString || this.oauthClient;
      return {};
    }
    const standing = this.versions.get(ClientRequestToken);
    if (standing !== undefined && standing !== SecretString) {
      throw new ResourceExistsException({ message: 'other content', $metadata: {} });
    }
    if (standing === undefined) {
      this.versions.set(ClientRequestToken, SecretString);
      this.#label.push({ from: this.#now().getTime(), versionId: ClientRequestToken });
    }
    return { VersionId: ClientRequestToken };
  }

  #get({ SecretId, VersionId }: GetSecretValueInput): object {
    const seen = this.#label.filter(({ from }) => from <= this.#now().getTime() - this.staleMs);
    const id = SecretId === 'client' ? 'client' : (VersionId ?? (seen.at(-1) ?? this.#label[0])?.versionId);
    const text = SecretId === 'client' ? this.oauthClient : this.versions.get(id ?? '');
    if (text === undefined) throw new ResourceNotFoundException({ message: 'no such version', $metadata: {} });
    return { SecretString: text, VersionId: id };
  }
}

type Ending = { abortSignal?: AbortSignal | undefined };

/** Rejects as the SDK does when the caller aborts. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(Object.assign(new Error('Request aborted'), { name: 'AbortError' }));
    signal?.addEventListener('abort', end);
  });
}

type PutInput = { SecretId?: string | undefined } & Partial<
  Record<'ClientRequestToken' | 'SecretString', string | undefined>
>;
type GetSecretValueInput = GetSecretValueCommand['input'];
