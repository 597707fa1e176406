import { expect, test } from 'vitest';
import { TableError } from '../../../core/table/table-error.ts';
import { readHashKey } from '../../../lambdas/write-table/handler.ts';
import { failureOf } from '../../support/failures.ts';
import { secretsManager } from '../../support/secrets-manager.ts';

const KEY = 'k'.repeat(64);

test('reads the key of hashed columns from its secret', async () => {
  const { client } = await secretsManager({ key: KEY });

  expect(await readHashKey(client, 'key')).toBe(KEY);
});

test.each<[string, Record<string, string>, string | undefined, RegExp]>([
  ['is missing', {}, 'key', /is missing or has no value: the secret key\.$/],
  ['has no value', { key: '' }, 'key', /is missing or has no value: the secret key\.$/],
  ['is too short to hide anything', { key: 'secret-4711' }, 'key', /is shorter than 32 characters: the secret key\.$/],
  ['the function does not know', {}, undefined, /^The stack has no secret for the hashed columns: deploy it again\.$/],
])('reports in one sentence, without the key, a key that %s', async (_, values, id, sentence) => {
  const { client } = await secretsManager(values);

  const error = await readHashKey(client, id).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(TableError);
  expect((error as TableError).message).toMatch(sentence);
  expect((error as TableError).message).not.toContain('secret-4711');
});

test('Secrets Manager without an answer is a transient error, a missing right a final one', async () => {
  const { client } = await secretsManager({ key: KEY }, { trouble: () => 'InternalServiceError' });
  const denied = await secretsManager({ key: KEY }, { trouble: () => 'AccessDeniedException' });

  expect((await failureOf(readHashKey(client, 'key'), 'TokenStoreUnavailable')).transient).toBe(true);
  expect((await failureOf(readHashKey(denied.client, 'key'), 'ConfigInvalid')).transient).toBe(false);
});
