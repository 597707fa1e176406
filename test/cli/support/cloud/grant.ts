import { type Answers, refused } from './answers.ts';

/** A token set as the secret has it, with changes. */
export const storedTokens = (more: object = {}) =>
  JSON.stringify({
    ...{ accessToken: 'a', refreshToken: 'r', scope: '', expiresAt: null, earlierObtainedAt: [] },
    ...{ obtainedAt: '2026-11-20T00:00:00.000Z', ...more },
  });

/** The secrets `client` and `tokens` with these values, and a ledger with this item. Every claim succeeds. */
export function grant(values: Record<string, string> = {}, item?: object): Answers {
  const secrets = new Map(
    Object.entries(values).map(([name, SecretString]) => [`arn:${name}`, { SecretString, VersionId: 'v1' }]),
  );
  return {
    GetSecretValue: ({ input: { SecretId, VersionId } }) => {
      const stored = secrets.get(String(SecretId));
      return stored && (!VersionId || VersionId === stored.VersionId) ? stored : refused('ResourceNotFoundException');
    },
    PutSecretValue: ({ input: { SecretId, SecretString, ClientRequestToken } }) => {
      if (!SecretString) return refused('InvalidParameterException');
      const stored = { SecretString: String(SecretString), VersionId: String(ClientRequestToken) };
      secrets.set(String(SecretId), stored);
      return stored;
    },
    GetItem: { Item: item },
    UpdateItem: ({ input }) => {
      const given = input.ExpressionAttributeValues as Record<string, object>;
      if (':number' in given) return { Attributes: { number: { N: '1' } } };
      const { ':state': state, ':owner': owner, ':deadline': deadline } = given;
      return owner ? { Attributes: { state, owner, deadline } } : {};
    },
  };
}
