import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { type Tokens, tokensSchema } from '../../../core/oauth/secrets.ts';
import type { Deployed } from './deployed.ts';

export async function storedTokens({ target }: Deployed): Promise<Tokens> {
  const stored = await target.secrets.send(new GetSecretValueCommand({ SecretId: target.TokensSecretId }));
  return tokensSchema.parse(JSON.parse(stored.SecretString ?? ''));
}

export async function putTokens({ target }: Deployed, text: string): Promise<void> {
  await target.secrets.send(new PutSecretValueCommand({ SecretId: target.TokensSecretId, SecretString: text }));
}
