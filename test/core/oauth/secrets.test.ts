import { expect, test } from 'vitest';
import { parseSecret, readOAuthClient, tokensSchema, writeSecret } from '../../../core/oauth/secrets.ts';
import { CANARY } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { secretsManager } from '../../support/secrets-manager.ts';

test('readOAuthClient returns what writeSecret wrote', async () => {
  const { client } = await secretsManager({ s: '' });

  await writeSecret(client, 's', { clientId: 'c', clientSecret: CANARY });

  expect(await readOAuthClient(client, 's')).toEqual({ clientId: 'c', clientSecret: CANARY });
});

test('a stored client without a secret has an empty secret', async () => {
  const { client } = await secretsManager({ s: '{"clientId":"c"}' });

  expect(await readOAuthClient(client, 's')).toEqual({ clientId: 'c', clientSecret: '' });
});

test.each<[string, Record<string, string>]>([
  ['is missing', {}],
  ['is empty', { s: '' }],
])('a secret that %s has no client', async (_, values) => {
  const { client } = await secretsManager(values);

  expect(await readOAuthClient(client, 's')).toBeUndefined();
});

test.each<[string, Record<string, string>, string]>([
  ['is not JSON', { s: CANARY }, 'The value of the secret s is not a JSON object'],
  ['is half of a JSON text', { s: `{"refreshToken":"${CANARY}` }, 'The value of the secret s is not a JSON object'],
  ['is a JSON string', { s: `"${CANARY}"` }, 'The value of the secret s is not a JSON object'],
  [
    'has another shape',
    { s: JSON.stringify({ clientId: 7, x: CANARY }) },
    'The value of the secret s has wrong or missing fields: clientId',
  ],
])('a secret that %s is ConfigInvalid, and its value is never quoted', async (_, values, message) => {
  const { client } = await secretsManager(values);

  expect((await failureOf(readOAuthClient(client, 's'), 'ConfigInvalid')).message).toContain(message);
});

test.each(['InternalServiceError', 'DecryptionFailure', 'ThrottlingException'])(
  '%s is TokenStoreUnavailable for reads and writes',
  async (type) => {
    const { client } = await secretsManager({ s: CANARY }, { trouble: () => type });

    const reading = await failureOf(readOAuthClient(client, 's'), 'TokenStoreUnavailable');
    const writing = await failureOf(
      writeSecret(client, 's', { clientId: CANARY, clientSecret: CANARY }),
      'TokenStoreUnavailable',
    );

    expect(reading.message).toBe(`The secret s could not be read (${type}).`);
    expect(writing.message).toBe(`The secret s could not be written (${type}).`);
  },
);

test('a missing permission is ConfigInvalid, with advice for a function and for a person', async () => {
  const { client } = await secretsManager({ s: CANARY }, { trouble: () => 'AccessDeniedException' });
  const advice =
    'with these credentials. If a function reports this, write all policies again: npx cdk deploy -c rewrite=policies. If a person sees this, use another --profile, or ask for the rights that docs/security.md lists.';

  const reading = await failureOf(readOAuthClient(client, 's'), 'ConfigInvalid');
  const value = { clientId: CANARY, clientSecret: CANARY };
  const writing = await failureOf(writeSecret(client, 's', value), 'ConfigInvalid');

  expect(reading.message).toBe(`There is no permission to read the secret s ${advice}`);
  expect(writing.message).toBe(`There is no permission to write the secret s ${advice}`);
});

test('a secret that is scheduled for deletion is ConfigInvalid, with the command that restores it', async () => {
  const { client } = await secretsManager({ s: CANARY }, { trouble: () => 'InvalidRequestException' });

  expect((await failureOf(readOAuthClient(client, 's'), 'ConfigInvalid')).message).toBe(
    'The secret s is scheduled for deletion; to restore it: aws secretsmanager restore-secret --secret-id s.',
  );
});

test('parseSecret names every wrong field of the grant', () => {
  const value = JSON.stringify({ refreshToken: 7, accessToken: CANARY, expiresAt: CANARY, obtainedAt: CANARY });

  expect(() => parseSecret('s', value, tokensSchema)).toThrow(
    'The value of the secret s has wrong or missing fields: refreshToken, expiresAt, obtainedAt, scope',
  );
});
